// SPDX-License-Identifier: GPL-2.0
// Symbol names cached for later runs of heap mode: with and without them, the profile is the same byte for byte.
// symbols_namefile tests the files themselves.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "selftests/lib/ctl_run.h"

#define PLACE	"names.tmp"
#define SECONDS 120

static char place[4096];

static void clear(void)
{
	if (system("rm -rf " PLACE))
		abort();
}

FIXTURE(names) {
	struct ctl_result result;
};

FIXTURE_SETUP(names)
{
	char here[2048];

	ASSERT_NE(NULL, getcwd(here, sizeof(here)));
	snprintf(place, sizeof(place), "%s/" PLACE, here);
	clear();
	ASSERT_EQ(0, mkdir(place, 0755));
	setenv("XDG_CACHE_HOME", place, 1);
	self->result = (struct ctl_result){ 0 };
}

FIXTURE_TEARDOWN(names)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	clear();
}

/* Disables address randomisation, because the profile contains addresses. */
static void stay_in_place(void)
{
	personality(ADDR_NO_RANDOMIZE);
}

struct program {
	const char *target, *argument;
};

/* Programs with inlined calls, C++ programs (some of their functions are operators), and a program without symbols. */
static const struct program programs[] = {
	{ "heap_map", NULL },	 { "diff_frames", "inlined" }, { "diff_frames", "callbacks" },
	{ "diff_new", "names" }, { "diff_new", "containers" }, { "diff_stripped", NULL },
};

/* Returns the text of the file written by a run of @program, without the lines that contain the command. */
static char *profile(struct ctl_result *result, const struct program *program, const char *cache,
		     const char *option)
{
	const char *argv[] = { "massif-ctl", "-q", cache, option, "--time-unit=B", "--detailed-freq=1",
			       "--threshold=0", "--massif-out-file=massif.out.names",
			       ctl_target(program->target), program->argument, NULL };
	char *text;

	ctl_run(result, NULL, stay_in_place, argv);
	if (WIFSIGNALED(result->status) || ctl_exit_code(result) == 2 || result->err[0])
		return NULL;
	text = ctl_read_file("massif.out.names");
	return text && ctl_is_massif_file(text) ? text : NULL;
}

static int files(const char *kind)
{
	DIR *list = opendir(PLACE "/massif");
	struct dirent *entry;
	int n = 0;

	while (list && (entry = readdir(list)))
		n += strstr(entry->d_name, kind) != NULL;
	if (list)
		closedir(list);
	return n;
}

/* Options of successive runs; each run uses the names that the previous runs cached. */
static const struct {
	const char *option;
	bool keeps;
} variants[] = {
	{ "--demangle=yes", true },
	{ "--demangle=no", true },
	{ "--fullpath-after=", true },
	{ "--read-inline-info=no", false },
	{ "--show-below-main=yes", true },
};

TEST_F_TIMEOUT(names, same_file, SECONDS)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		clear();
		ASSERT_EQ(0, mkdir(place, 0755));
		for (size_t k = 0; k < ARRAY_SIZE(variants) * 2; k++) {
			const char *option = variants[k % ARRAY_SIZE(variants)].option;
			mf_auto_free char *without = NULL, *cold = NULL, *warm = NULL;

			without = profile(&self->result, &programs[i], "--unwind-cache=no", option);
			ASSERT_NE(NULL, without) {
				TH_LOG("%s: %s", programs[i].target, self->result.err);
			}
			cold = profile(&self->result, &programs[i], "--unwind-cache=yes", option);
			warm = profile(&self->result, &programs[i], "--unwind-cache=yes", option);
			/* The files of runs with and without cached names differ only in the command. */
			ASSERT_TRUE(without && cold && warm);
			EXPECT_STREQ(strstr(without, "\ntime_unit"), strstr(cold, "\ntime_unit"));
			EXPECT_STREQ(cold, warm);
		}
		/* At least the program's own names are cached, provided it has debug information. */
		if (strcmp(programs[i].target, "diff_stripped") != 0)
			EXPECT_LE(1, files(".names"));
	}
}

TEST_F_TIMEOUT(names, kept_or_not, SECONDS)
{
	static const struct program program = { "diff_frames", "inlined" };

	free(profile(&self->result, &program, "--unwind-cache=no", "--demangle=yes"));
	EXPECT_NE(0, access(PLACE "/massif", F_OK));
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
		clear();
		ASSERT_EQ(0, mkdir(place, 0755));
		free(profile(&self->result, &program, "--unwind-cache=yes", variants[i].option));
		EXPECT_EQ(variants[i].keeps, files(".names") > 0) {
			TH_LOG("%s", variants[i].option);
		}
	}
}

/* massif-ctl prints no message if the cache directory cannot be written or cannot be created. */
TEST_F_TIMEOUT(names, no_place, SECONDS)
{
	static const struct program program = { "diff_frames", "inlined" };
	mf_auto_free char *without = NULL, *with = NULL;

	without = profile(&self->result, &program, "--unwind-cache=yes", "--demangle=yes");
	clear();
	ASSERT_EQ(0, mkdir(place, 0755));
	ctl_write_file(PLACE "/massif", "", 0600);
	with = profile(&self->result, &program, "--unwind-cache=yes", "--demangle=yes");
	ASSERT_NE(NULL, without);
	EXPECT_STREQ(without, with);
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	free(mf_take(with, NULL));
	with = profile(&self->result, &program, "--unwind-cache=yes", "--demangle=yes");
	EXPECT_STREQ(without, with);
	EXPECT_EQ(0, files(".names"));
}

/*
 * Each process has its own massif.out file. The function names found for all of them are written to the cache only
 * once, at the end of the run.
 */
TEST_F_TIMEOUT(names, of_children, SECONDS)
{
	const char *shell = "for i in 1 2 3; do (exit 0); done";
	char name[256];
	int kept = 0;

	for (int i = 0; i < 2; i++) {
		CTL_RUN(&self->result, "massif-ctl", "-q", "--trace-children=yes", "--unwind-cache=yes",
			"--massif-out-file=massif.out.%p", ctl_target("diff_frames"), "tails");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		CTL_RUN(&self->result, "massif-ctl", "-q", "--unwind-cache=yes",
			"--massif-out-file=massif.out.%p", "sh", "-c", shell);
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.err);
		EXPECT_EQ((size_t)(5 * (i + 1)), ctl_find_files("massif.out", name));
		if (!i)
			kept = files("");
	}
	EXPECT_LE(1, files(".names"));
	EXPECT_EQ(kept, files(""));
}

TEST_HARNESS_MAIN
