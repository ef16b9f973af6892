// SPDX-License-Identifier: GPL-2.0
// Every limit in the sources is listed in host/limits.table with its value, and the test that is named there exists.

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/* The number of limits that have no test; it must not grow. */
#define WITHOUT_A_TEST 0

#define NAME	 "[A-Z0-9_]*(_MAX|_MOST|_LIMIT|_ROOM|_SLOTS)|(MAX|MOST)_[A-Z0-9_]+"
#define ROWS_MOST 512

struct row {
	char file[128], constant[64], value[256], at_one_more[256], test[128], cases[64];
	bool found;
};

static struct row rows[ROWS_MOST];
static size_t n_rows;

static const char *source(void)
{
	return getenv("MASSIF_SRC") ?: ".";
}

/*
 * Copies the first field of @line, a row of the table, to @field. The field is the text before " | ", or the whole line
 * if there is no separator. Returns the rest of @line.
 */
static char *take(char *line, char *field, size_t size)
{
	char *end = line ? strstr(line, " |") : NULL;

	if (!line)
		return NULL;
	if (end)
		*end = '\0';
	snprintf(field, size, "%.*s", (int)size - 1, line);
	return end ? end + (end[2] == ' ' ? 3 : 2) : NULL;
}

FIXTURE(limits) {
	char path[4096];
};

FIXTURE_SETUP(limits)
{
	char line[1024], *rest;
	FILE *file;

	snprintf(self->path, sizeof(self->path), "%s/selftests/host/limits.table", source());
	file = fopen(self->path, "re");
	ASSERT_NE(NULL, file);
	n_rows = 0;
	while (fgets(line, sizeof(line), file)) {
		struct row *row = &rows[n_rows];

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || !line[0])
			continue;
		ASSERT_GT(ROWS_MOST, ++n_rows);
		memset(row, 0, sizeof(*row));
		rest = take(line, row->file, sizeof(row->file));
		rest = take(rest, row->constant, sizeof(row->constant));
		rest = take(rest, row->value, sizeof(row->value));
		rest = take(rest, row->at_one_more, sizeof(row->at_one_more));
		rest = take(rest, row->test, sizeof(row->test));
		take(rest, row->cases, sizeof(row->cases));
	}
	fclose(file);
}

FIXTURE_TEARDOWN(limits)
{
}

static struct row *find_row(const char *file, const char *constant)
{
	for (size_t i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].file, file) && !strcmp(rows[i].constant, constant))
			return &rows[i];
	return NULL;
}

/* Copies the text that a regular expression has matched in @line, without any comment or comma at its end. */
static void copy_match(const char *line, const regmatch_t *match, char *to, size_t size)
{
	char *end;

	snprintf(to, size, "%.*s", (int)(match->rm_eo - match->rm_so), line + match->rm_so);
	end = strstr(to, "/*");
	if (end)
		*end = '\0';
	for (end = to + strlen(to); end > to && strchr(" \t\n,", end[-1]); end--)
		end[-1] = '\0';
}

/*
 * Compares a limit that a source file defines with its row in selftests/host/limits.table. @found is a line of grep's
 * output: FILE:LINE.
 */
static void compare(struct __test_metadata *_metadata, char *found, const regex_t *definition)
{
	char *line = strchr(found, ':'), constant[128], value[512];
	regmatch_t match[8];
	struct row *row;

	ASSERT_NE(NULL, line);
	*line++ = '\0';
	if (regexec(definition, line, 8, match, 0))
		return;
	copy_match(line, &match[2], constant, sizeof(constant));
	copy_match(line, &match[6], value, sizeof(value));
	row = find_row(found, constant);
	EXPECT_NE(NULL, row) {
		TH_LOG("%s: %s is in no row of selftests/host/limits.table", found, constant);
	}
	if (!row)
		return;
	row->found = true;
	EXPECT_STREQ(value, row->value) {
		TH_LOG("%s: %s has another value in selftests/host/limits.table", found, constant);
	}
}

TEST_F(limits, are_all_in_the_table)
{
	char command[4300], line[1024];
	regex_t definition;
	FILE *grep;

	ASSERT_EQ(0, regcomp(&definition,
			     "^(#define[ \t]+|[ \t]+)(" NAME ")([ \t]+|[ \t]+=[ \t]+)([^= \t].*)$", REG_EXTENDED));
	snprintf(command, sizeof(command),
		 "cd '%s' && grep -rHE --include='*.[ch]' --exclude='*.mod.c' --exclude-dir=compat "
		 "'^#define[[:space:]]+(" NAME ")[[:space:]]|^[[:space:]]+(" NAME ") = [^;]*,' preload userland kmod msprint",
		 source());
	grep = popen(command, "re");
	ASSERT_NE(NULL, grep);
	while (fgets(line, sizeof(line), grep)) {
		line[strcspn(line, "\n")] = '\0';
		compare(_metadata, line, &definition);
	}
	EXPECT_EQ(0, pclose(grep));
	regfree(&definition);
	for (size_t i = 0; i < n_rows; i++) {
		EXPECT_TRUE(rows[i].found) {
			TH_LOG("%s: there is no %s any more", rows[i].file, rows[i].constant);
		}
	}
}

/* KIND/NAME:CASE stands for a test in selftests/KIND/NAME.c, or for a row of its tables. */
static bool exists(const char *test)
{
	const char *colon = strchr(test, ':');
	char path[4300], *text;
	bool found;

	if (!colon)
		return false;
	snprintf(path, sizeof(path), "%s/selftests/%.*s.c", source(), (int)(colon - test), test);
	text = ctl_read_file(path);
	found = text && strstr(text, colon + 1);
	free(text);
	return found;
}

TEST_F(limits, have_tests_that_exist)
{
	size_t without = 0;

	for (size_t i = 0; i < n_rows; i++) {
		const struct row *row = &rows[i];

		EXPECT_NE('\0', row->at_one_more[0]) {
			TH_LOG("%s: nothing is said of one more", row->constant);
		}
		if (!strcmp(row->test, "-"))
			continue;
		if (!strcmp(row->test, "none yet")) {
			without++;
			continue;
		}
		EXPECT_TRUE(exists(row->test) && row->cases[0]) {
			TH_LOG("%s: there is no test %s, or its cases are not said", row->constant, row->test);
		}
	}
	EXPECT_EQ(WITHOUT_A_TEST, without);
}

TEST_HARNESS_MAIN
