// SPDX-License-Identifier: GPL-2.0
// No output file of a run replaces another file of the same run, however the names are spelled; files of earlier runs
// are replaced.

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "ctl/files/outputs.h"
#include "selftests/lib/ctl_run.h"

/* Returns how many times @word occurs in @text. */
static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

static void remove_all(void)
{
	ctl_remove_files("w.d/w.");
	if (!chdir("w.d")) {
		ctl_remove_files("w.");
		if (chdir(".."))
			_exit(98);
	}
	rmdir("w.d");
	ctl_remove_files("w.");
}

FIXTURE(run) {
	struct ctl_result result;
};

#define WORDS 5

FIXTURE_VARIANT(run) {
	const char *options[WORDS];
	const char *script;
	size_t profiles, trees; /* number of files w.* that must exist at the end */
	size_t said;		/* number of messages about a file given a different name because its own was taken */
	const char *kept;	/* name of the first process's output file; NULL if there is none */
};

#define FORKS "(:); (:); (:); exit 3"

FIXTURE_VARIANT_ADD(run, forks) {
	.options = { "--massif-out-file=w.out" }, .script = FORKS,
	.profiles = 4, .said = 3, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, forks_with_a_number) {
	.options = { "--massif-out-file=w.%n" }, .script = FORKS,
	.profiles = 4, .said = 3, .kept = "w.1",
};
FIXTURE_VARIANT_ADD(run, forks_with_a_variable) {
	.options = { "--massif-out-file=w.%q{W_NAME}" }, .script = FORKS,
	.profiles = 4, .said = 3, .kept = "w.name",
};
FIXTURE_VARIANT_ADD(run, forks_with_pids) {
	.options = { "--massif-out-file=w.%p" }, .script = FORKS, .profiles = 4,
};
FIXTURE_VARIANT_ADD(run, forks_silently) {
	.options = { "--massif-out-file=w.out", "--child-silent-after-fork=yes" }, .script = FORKS,
	.profiles = 4, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, forks_of_forks) {
	.options = { "--massif-out-file=w.out" }, .script = "((:); :); ((:); :); exit 3",
	.profiles = 5, .said = 4, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, children_that_go_on) {
	.options = { "--massif-out-file=w.out" }, .script = "(sleep 0.2; :)& (:)& (:)& wait; exit 3",
	.profiles = 4, .said = 3, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, traced_programs) {
	.options = { "--massif-out-file=w.out", "--trace-children=yes" },
	.script = "env true; env true; exit 3", .profiles = 3, .said = 2, .kept = "w.out",
};
/* The process executes another program; only the last program has a file. */
FIXTURE_VARIANT_ADD(run, traced_into_another) {
	.options = { "--massif-out-file=w.out", "--trace-children=yes" },
	.script = "exec env env sh -c 'exit 3'", .profiles = 1, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, traced_into_another_that_forks) {
	.options = { "--massif-out-file=w.out", "--trace-children=yes" },
	.script = "(:); exec sh -c '" FORKS "'", .profiles = 5, .said = 4, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, trees) {
	.options = { "--massif-out-file=w.out", "--xtree-memory=allocs", "--xtree-memory-file=w.tree" },
	.script = FORKS, .profiles = 4, .trees = 4, .said = 6, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, tree_and_profile) {
	.options = { "--massif-out-file=w.out", "--xtree-memory=allocs", "--xtree-memory-file=./w.out" },
	.script = "exit 3", .profiles = 1, .trees = 1, .said = 1, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, tree_and_profile_by_a_path) {
	.options = { "--massif-out-file=w.d/../w.out", "--xtree-memory=full",
		     "--xtree-memory-file=.//w.out" },
	.script = "exit 3", .profiles = 1, .trees = 1, .said = 1, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, tree_and_profile_by_a_link) {
	.options = { "--massif-out-file=w.here/w.out", "--xtree-memory=allocs",
		     "--xtree-memory-file=w.out" },
	.script = "exit 3", .profiles = 1, .trees = 1, .said = 1, .kept = "w.out",
};
/* A symbolic link is replaced rather than followed, so its name does not clash with its target's. */
FIXTURE_VARIANT_ADD(run, link_to_the_other) {
	.options = { "--massif-out-file=w.out", "--xtree-memory=allocs", "--xtree-memory-file=w.soft" },
	.script = "exit 3", .profiles = 1, .trees = 1, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, same_name_elsewhere) {
	.options = { "--massif-out-file=w.out", "--xtree-memory=allocs", "--xtree-memory-file=w.d/w.out" },
	.script = "exit 3", .profiles = 1, .kept = "w.out",
};
FIXTURE_VARIANT_ADD(run, device) {
	.options = { "--massif-out-file=/dev/null" }, .script = FORKS,
};
/* A hundred processes whose files have the same name. */
FIXTURE_VARIANT_ADD(run, hundred) {
	.options = { "--massif-out-file=w.out" },
	.script = "i=0; while [ $i -lt 100 ]; do (:); i=$((i+1)); done; exit 3",
	.profiles = 101, .said = 100, .kept = "w.out",
};

FIXTURE_SETUP(run)
{
	remove_all();
	setenv("HOME", "/nonexistent", 1);
	setenv("W_NAME", "name", 1);
	unsetenv("MASSIF_OPTS");
	ASSERT_EQ(0, mkdir("w.d", 0755));
	ASSERT_EQ(0, symlink(".", "w.here"));
	ASSERT_EQ(0, symlink("w.out", "w.soft"));
}

FIXTURE_TEARDOWN(run)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	remove_all();
}

/* Counts the regular files w.* by contents, and then removes them. */
static void count_files(size_t *profiles, size_t *trees)
{
	DIR *directory = opendir(".");
	struct dirent *entry;

	*profiles = *trees = 0;
	while ((entry = readdir(directory))) {
		struct stat status;
		char *text;

		if (strncmp(entry->d_name, "w.", 2) || lstat(entry->d_name, &status) ||
		    !S_ISREG(status.st_mode))
			continue;
		text = ctl_read_file(entry->d_name);
		*profiles += ctl_is_massif_file(text);
		*trees += strstr(text, "\nevents: ") != NULL;
		free(text);
	}
	closedir(directory);
}

TEST_F_TIMEOUT(run, has_all_files, 120)
{
	const char *argv[WORDS + 8] = { "massif-ctl", "--time-unit=B" };
	size_t n = 2, profiles, trees;
	char first[64];

	/* These files were left by an earlier run. */
	ctl_write_file("w.out", "old", 0644);
	ctl_write_file("w.1", "old", 0644);
	ctl_write_file("w.name", "old", 0644);
	for (size_t i = 0; i < WORDS && variant->options[i]; i++)
		argv[n++] = variant->options[i];
	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n++] = variant->script;
	ctl_run(&self->result, NULL, NULL, argv);
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_EQ(variant->said, count(self->result.err, " goes to '")) {
		TH_LOG("%s", self->result.err);
	}
	count_files(&profiles, &trees);
	EXPECT_EQ(variant->profiles, profiles);
	EXPECT_EQ(variant->trees, trees);
	if (variant->kept) {
		char *text = ctl_read_file(variant->kept);

		EXPECT_TRUE(text && ctl_is_massif_file(text));
		free(text);
	}
	/*
	 * The file name given by the user is reserved for the process that the user started. The messages about the
	 * files of other processes must say so.
	 */
	snprintf(first, sizeof(first), "'%s' is reserved for the profile of process ",
		 variant->kept ? variant->kept : "");
	if (variant->said && !variant->trees) {
		EXPECT_EQ(variant->said, count(self->result.err, first));
	}
}

FIXTURE(special) {
	struct ctl_result result;
};

FIXTURE_SETUP(special)
{
	remove_all();
	setenv("HOME", "/nonexistent", 1);
	unsetenv("MASSIF_OPTS");
}

FIXTURE_TEARDOWN(special)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	remove_all();
}

/* All processes write to standard output, one after another. */
TEST_F(special, standard_output)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=/dev/stdout", "sh",
		"-c", FORKS);
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(4, count(self->result.out, "desc: "));
}

TEST_F(special, log)
{
	char name[256], *log;

	CTL_RUN(&self->result, "massif-ctl", "--log-file=w.log", "--massif-out-file=./w.log", "true");
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	log = ctl_read_file("w.log");
	EXPECT_NE(NULL, strstr(log, "'./w.log' is reserved for the log of process "));
	EXPECT_NE(NULL, strstr(log, "(--log-file and --massif-out-file name the same file)"));
	EXPECT_NE(NULL, strstr(log, "wrote ./w.log."));
	free(log);
	ASSERT_EQ(1, ctl_find_files("w.log.", name));
	log = ctl_read_file(name);
	EXPECT_TRUE(ctl_is_massif_file(log));
	free(log);
}

/* A second run uses the same names again and replaces the first run's files. */
TEST_F(special, next_one)
{
	struct stat before, after;
	char name[256];

	for (int i = 0; i < 2; i++) {
		CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--massif-out-file=w.out", "true");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_EQ(NULL, strstr(self->result.err, " goes to "));
		ctl_result_free(&self->result);
		ASSERT_EQ(0, stat("w.out", i ? &after : &before));
	}
	EXPECT_NE(before.st_ino, after.st_ino);
	EXPECT_EQ(1, ctl_find_files("w.out", name));
}

/*
 * Directly tests the registry of output file names, which keeps processes from overwriting each other's files. The pids
 * are made up.
 */
FIXTURE(outputs) {
	struct mf_outputs *outputs;
};

FIXTURE_SETUP(outputs)
{
	remove_all();
	mf_message_set_level(MF_MESSAGE_ERROR);
	self->outputs = mf_outputs_create();
	ASSERT_NE(NULL, self->outputs);
}

FIXTURE_TEARDOWN(outputs)
{
	mf_outputs_destroy(self->outputs);
	remove_all();
}

static int fill(FILE *out, void *data, struct mf_error *err)
{
	fputs(data, out);
	return 0;
}

/*
 * Writes @text to the output file of process @pid, requesting the name @path. Returns the name that the file was
 * actually given, or NULL on failure.
 */
static char *write_text(struct mf_outputs *outputs, const char *path, pid_t pid, const char *text)
{
	const struct mf_outfile_source source = {
		.fill = fill, .data = (void *)text, .mode = 0644, .stem = "w.stem",
	};
	struct mf_error err;
	char *name = NULL;

	return mf_outputs_write(outputs, MF_OUTPUT_PROFILE, path, pid, &source, &name, &err) ? NULL : name;
}

#define EXPECT_WRITTEN(expected, path, pid, text)                                 \
	do {                                                                      \
		mf_auto_free char *name_ = write_text(self->outputs, path, pid, text); \
		mf_auto_free char *text_ = name_ ? ctl_read_file(name_) : NULL;   \
		EXPECT_STREQ(expected, name_ ? name_ : "(none)");                 \
		EXPECT_STREQ(text, text_ ? text_ : "(none)");                     \
	} while (0)

/* Several processes of a run use the same output file name and even the same pid, because the kernel reuses pids. */
TEST_F(outputs, number_comes_again)
{
	EXPECT_WRITTEN("w.7", "w.7", 7, "first");
	EXPECT_WRITTEN("w.7.7", "w.7", 7, "second");
	EXPECT_WRITTEN("w.7.7.2", "w.7", 7, "third");
	EXPECT_WRITTEN("./w.7.7.3", "./w.7", 7, "fourth");
	EXPECT_WRITTEN("w.8", "w.8", 8, "fifth");
}

TEST_F(outputs, reserved)
{
	mf_outputs_reserve(self->outputs, MF_OUTPUT_PROFILE, "w.out", 5);
	mf_outputs_reserve(self->outputs, MF_OUTPUT_PROFILE, "./w.out", 6);
	EXPECT_WRITTEN("w.out.6", "w.out", 6, "sixth");
	EXPECT_WRITTEN("w.out", "w.out", 5, "fifth");
	EXPECT_WRITTEN("w.out.5", "w.out", 5, "another fifth");
}

/*
 * If an output file's name (w.out) is taken, the registry appends the pid (w.out.3). If that name is taken as well, the
 * registry also appends a number.
 */
TEST_F(outputs, made_names)
{
	EXPECT_WRITTEN("w.out.3", "w.out.3", 1, "first");
	EXPECT_WRITTEN("w.out", "w.out", 2, "second");
	EXPECT_WRITTEN("w.out.3.2", "w.out", 3, "third");
}

/* Enough file names are registered to make the registry's table grow. */
TEST_F(outputs, many)
{
	static const int numbers[] = { 15, 16, 17, 160, 1600 };
	char name[64];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (int n = 1; n <= numbers[i]; n++) {
			snprintf(name, sizeof(name), n > 1 ? "w.%zu.%d" : "w.%zu", i, n);
			EXPECT_WRITTEN(name, i == 0 ? "w.0" : i == 1 ? "w.1" : i == 2 ? "w.2" :
						   i == 3 ? "w.3" : "w.4", n, "text");
		}
	}
	EXPECT_WRITTEN("w.0.4000", "w.0", 4000, "text");
}

/* If a directory is renamed and a new one is created under its old name, the two are different directories. */
TEST_F(outputs, directory_goes)
{
	ASSERT_EQ(0, mkdir("w.d", 0755));
	EXPECT_WRITTEN("w.d/w.out", "w.d/w.out", 1, "first");
	ASSERT_EQ(0, rename("w.d", "w.e"));
	ASSERT_EQ(0, mkdir("w.d", 0755));
	EXPECT_WRITTEN("w.d/w.out", "w.d/w.out", 2, "second");
	EXPECT_WRITTEN("w.e/w.out.3", "w.e/w.out", 3, "third");
	ASSERT_EQ(0, system("rm -r w.e"));
}

TEST_HARNESS_MAIN
