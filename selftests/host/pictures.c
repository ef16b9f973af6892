// SPDX-License-Identifier: GPL-2.0
// The pictures of the documentation: each is a PNG of at most 100 KB that `make pictures' makes, and the tour shows no
// command that is not run for them.

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define PICTURE_MAX 102400 /* bytes; as in selftests/tools/pictures.sh */
#define NAME_SIZE   64

static const char *source_path(const char *path)
{
	static char whole[4096];

	snprintf(whole, sizeof(whole), "%s/%s", getenv("MASSIF_SRC") ?: ".", path);
	return whole;
}

/* Returns the contents of a file of the sources, which the caller frees. */
static char *read_source(const char *path)
{
	return ctl_read_file(source_path(path)) ?: strdup("");
}

/* Returns what is wrong with the picture in the file @path, or NULL. */
static const char *picture_fault(const char *path)
{
	static const char first[] = "\x89PNG\r\n\x1a\n", last[] = "IEND\xae\x42\x60\x82";
	char head[sizeof(first) - 1] = "", tail[sizeof(last) - 1] = "";
	FILE *file = fopen(path, "r");
	long size;
	bool whole;

	if (!file)
		return "does not exist";
	whole = fread(head, sizeof(head), 1, file) == 1 && fseek(file, -(long)sizeof(tail), SEEK_END) == 0 &&
		fread(tail, sizeof(tail), 1, file) == 1;
	size = ftell(file);
	fclose(file);
	if (!whole || memcmp(head, first, sizeof(head)) != 0 || memcmp(tail, last, sizeof(tail)) != 0)
		return "is not a whole PNG";
	return size > PICTURE_MAX ? "is too large" : NULL;
}

struct row {
	char picture[NAME_SIZE], how[16], size[16];
	const char *what; /* up to the end of the line */
};

/* Takes the next row from *@at. Returns whether there is one. */
static bool next_row(const char **at, struct row *row)
{
	while (**at) {
		const char *line = *at;
		int length = 0;

		*at += strcspn(*at, "\n");
		*at += **at == '\n';
		if (*line != '#' && sscanf(line, "%63s %15s %15s %n", row->picture, row->how, row->size, &length) == 3 &&
		    length) {
			row->what = line + length;
			return true;
		}
	}
	return false;
}

/* Returns how many rows of @table make the picture @name. */
static unsigned int rows_of(const char *table, const char *name)
{
	unsigned int n = 0;

	for (struct row row; next_row(&table, &row);)
		n += strcmp(row.picture, name) == 0;
	return n;
}

/* Takes the next "pictures/NAME" from *@at into @name. Returns whether there is one. */
static bool next_mention(const char **at, char *name)
{
	while ((*at = strstr(*at, "pictures/"))) {
		*at += strlen("pictures/");
		if (sscanf(*at, "%63[a-z0-9-.]", name) == 1 && strstr(name, ".png"))
			return true;
	}
	return false;
}

static void write_picture(const char *path, size_t size)
{
	FILE *file = fopen(path, "w");

	fputs("\x89PNG\r\n\x1a\n", file);
	fseek(file, (long)size - 8, SEEK_SET);
	fputs("IEND\xae\x42\x60\x82", file);
	fclose(file);
}

TEST(pictures_are_small)
{
	write_picture("p.png", PICTURE_MAX);
	EXPECT_EQ(NULL, picture_fault("p.png"));
	write_picture("p.png", PICTURE_MAX + 1);
	EXPECT_STREQ("is too large", picture_fault("p.png"));
	write_picture("p.png", 10 * PICTURE_MAX);
	EXPECT_STREQ("is too large", picture_fault("p.png"));
	ASSERT_EQ(0, truncate("p.png", PICTURE_MAX));
	EXPECT_STREQ("is not a whole PNG", picture_fault("p.png"));
	ASSERT_EQ(0, truncate("p.png", 0));
	EXPECT_STREQ("is not a whole PNG", picture_fault("p.png"));
	unlink("p.png");
	EXPECT_STREQ("does not exist", picture_fault("p.png"));
}

TEST(mentioned_pictures_are_made)
{
	static const char *const documents[] = { "README.md", "Documentation/tour.rst" };
	char *table = read_source("Documentation/pictures/pictures.table");
	char path[256], name[NAME_SIZE];

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		char *text = read_source(documents[i]);
		unsigned int n = 0;

		for (const char *at = text; next_mention(&at, name); n++) {
			snprintf(path, sizeof(path), "Documentation/pictures/%s", name);
			EXPECT_EQ(NULL, picture_fault(source_path(path))) {
				TH_LOG("%s, in %s, %s", path, documents[i], picture_fault(source_path(path)));
			}
			EXPECT_EQ(1, rows_of(table, name)) {
				TH_LOG("%s, in %s, has %u rows in pictures.table", name, documents[i], rows_of(table, name));
			}
		}
		EXPECT_LE(1, n);
		free(text);
	}
	EXPECT_EQ(0, rows_of(table, "none.png"));
	free(table);
}

/* No picture is left of which nobody knows how to make it, and none is made for nothing. */
TEST(made_pictures_are_mentioned)
{
	char *table = read_source("Documentation/pictures/pictures.table"), *readme = read_source("README.md"),
	     *tour = read_source("Documentation/tour.rst");
	DIR *directory = opendir(source_path("Documentation/pictures"));
	const char *at = table;
	char path[256];

	for (struct row row; next_row(&at, &row);) {
		if (strcmp(row.picture, "-") == 0)
			continue;
		snprintf(path, sizeof(path), "pictures/%s", row.picture);
		EXPECT_TRUE(strstr(readme, path) || strstr(tour, path)) {
			TH_LOG("nothing shows %s", path);
		}
	}
	ASSERT_NE(NULL, directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (strstr(entry->d_name, ".png"))
			EXPECT_EQ(1, rows_of(table, entry->d_name)) {
				TH_LOG("%s is not made by a row of pictures.table", entry->d_name);
			}
	}
	closedir(directory);
	free(table);
	free(readme);
	free(tour);
}

/* A command of the tour is a line that begins with a prompt: "$ " or "# ". Rows in between are pages. */
TEST(commands_of_the_tour_are_run)
{
	char *table = read_source("Documentation/pictures/pictures.table"), *tour = read_source("Documentation/tour.rst");
	const char *at = table;
	unsigned int n = 0;

	for (char *line = strtok(tour, "\n"); line; line = strtok(NULL, "\n")) {
		struct row row = { .what = "" };
		bool found = false;

		if (strncmp(line, "    $ ", 6) != 0 && strncmp(line, "    # ", 6) != 0)
			continue;
		n++;
		while (!found && next_row(&at, &row))
			found = strncmp(row.what, line + 6, strlen(line + 6)) == 0 && row.what[strlen(line + 6)] == '\n';
		ASSERT_TRUE(found) {
			TH_LOG("pictures.table does not run it, or in another order: %s", line + 6);
		}
		EXPECT_EQ(line[4] == '#', strcmp(row.how, "guest") == 0) {
			TH_LOG("only root's commands are run in the guest: %s", line + 6);
		}
	}
	EXPECT_LT(10, n);
	/* All commands of the table are the tour's. */
	at = table;
	for (struct row row; next_row(&at, &row);)
		n -= strncmp(row.how, "page", 4) != 0;
	EXPECT_EQ(0, n);
	free(table);
	free(tour);
}

TEST_HARNESS_MAIN
