// SPDX-License-Identifier: GPL-2.0
// Output files that cannot be written, under Valgrind's Massif and under massif-ctl: the program's exit status is
// preserved, existing files are left alone, and a message is printed.
//
// If the error can be detected before the program runs, massif-ctl refuses to start, while Massif runs the program and
// reports at the end that there is no profile. If the error occurs later, massif-ctl saves the file elsewhere. Massif
// does not notice that a disk is full.

#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_run.h"

#define VALGRIND "/usr/bin/valgrind"
#define NOBODY	 65534

#define CANNOT(name, why) "massif-ctl: cannot write '" name "': " why "; "
#define CHOOSE(option)	  "choose another file with " option "\n"
#define SAVED		  "saved as "
#define THEIRS		  "Error: can not open xtree output file `"

FIXTURE(outfile) {
	struct ctl_result ours, theirs;
	char refuge[PATH_MAX];
};

FIXTURE_VARIANT(outfile) {
	const char *option;
	const char *deed; /* command that the program runs before it prints something and exits with 3 */
	bool nobody;	  /* true to run the profiler as an unprivileged user */
	bool early;	  /* true if massif-ctl notices, before it runs the program, that it cannot write the file */
	const char *ours, *theirs; /* expected messages; NULL: none */
	const char *kept; /* name of a file that exists before the run and must remain unchanged */
	/* name of the output file that must be written even if another output file cannot be written */
	const char *written;
};

FIXTURE_VARIANT_ADD(outfile, no_directory) {
	.option = "--massif-out-file=o.none/x", .deed = ":", .early = true,
	.ours = CANNOT("o.none/x", "No such file or directory") CHOOSE("--massif-out-file"), .theirs = THEIRS,
};
FIXTURE_VARIANT_ADD(outfile, is_a_directory) {
	.option = "--massif-out-file=o.directory", .deed = ":", .early = true,
	.ours = CANNOT("o.directory", "Is a directory") CHOOSE("--massif-out-file"), .theirs = THEIRS,
	.kept = "o.directory/word",
};
FIXTURE_VARIANT_ADD(outfile, below_a_file) {
	.option = "--massif-out-file=o.word/x", .deed = ":", .early = true,
	.ours = CANNOT("o.word/x", "Not a directory") CHOOSE("--massif-out-file"), .theirs = THEIRS, .kept = "o.word",
};
FIXTURE_VARIANT_ADD(outfile, directory_of_another) {
	.option = "--massif-out-file=o.directory/x", .deed = ":", .nobody = true, .early = true,
	.ours = CANNOT("o.directory/x", "Permission denied") CHOOSE("--massif-out-file"), .theirs = THEIRS,
	.kept = "o.directory/word",
};
FIXTURE_VARIANT_ADD(outfile, file_is_read_only) {
	.option = "--massif-out-file=o.word", .deed = ":", .nobody = true, .early = true,
	.ours = CANNOT("o.word", "Permission denied") CHOOSE("--massif-out-file"), .theirs = THEIRS, .kept = "o.word",
};
FIXTURE_VARIANT_ADD(outfile, directory_goes) {
	.option = "--massif-out-file=o.empty/x", .deed = "rmdir o.empty",
	.ours = CANNOT("o.empty/x", "No such file or directory") SAVED, .theirs = THEIRS,
};
FIXTURE_VARIANT_ADD(outfile, directory_comes) {
	.option = "--massif-out-file=o.new", .deed = "mkdir o.new",
	.ours = CANNOT("o.new", "Is a directory") SAVED, .theirs = THEIRS,
};
FIXTURE_VARIANT_ADD(outfile, rights_go) {
	.option = "--massif-out-file=o.own/x", .deed = "chmod 555 o.own", .nobody = true,
	.ours = CANNOT("o.own/x", "Permission denied") SAVED, .theirs = THEIRS,
};
FIXTURE_VARIANT_ADD(outfile, no_space) {
	.option = "--massif-out-file=/dev/full", .deed = ":",
	.ours = CANNOT("/dev/full", "No space left on device") SAVED,
};
FIXTURE_VARIANT_ADD(outfile, xtree_no_directory) {
	.option = "--xtree-memory-file=o.none/x", .deed = ":", .early = true,
	.ours = CANNOT("o.none/x", "No such file or directory") CHOOSE("--xtree-memory-file"),
	.theirs = THEIRS,
};
/* If the execution tree cannot be written, the massif.out file is still written as usual. */
FIXTURE_VARIANT_ADD(outfile, xtree_no_space) {
	.option = "--xtree-memory-file=/dev/full", .deed = ":",
	.ours = CANNOT("/dev/full", "No space left on device") SAVED, .written = "o.out",
};

static void remove_all(void)
{
	static const char *const directories[] = { "o.directory", "o.empty", "o.own", "o.new",
						   "o.refuge" };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		char word[64];

		snprintf(word, sizeof(word), "%s/word", directories[i]);
		unlink(word);
		rmdir(directories[i]);
	}
	ctl_remove_files("o.");
}

static void make_all(void)
{
	remove_all();
	mkdir("o.directory", 0755);
	mkdir("o.empty", 0755);
	mkdir("o.own", 0755);
	mkdir("o.refuge", 0755);
	chmod("o.refuge", 01777);
	ctl_write_file("o.word", "word", 0644);
	ctl_write_file("o.directory/word", "word", 0644);
}

FIXTURE_SETUP(outfile)
{
	setenv("HOME", "/nonexistent", 1);
	unsetenv("VALGRIND_OPTS");
	unsetenv("MASSIF_OPTS");
	ASSERT_NE(NULL, getcwd(self->refuge, sizeof(self->refuge) - sizeof("/o.refuge")));
	strcat(self->refuge, "/o.refuge");
	setenv("TMPDIR", self->refuge, 1);
}

FIXTURE_TEARDOWN(outfile)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->ours);
	ctl_result_free(&self->theirs);
	remove_all();
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(98);
}

static void run(struct ctl_result *result, const FIXTURE_VARIANT(outfile) * variant, bool theirs)
{
	const char *argv[16] = { "massif-ctl" };
	char script[128];
	size_t n = 1;

	if (theirs) {
		argv[0] = VALGRIND;
		argv[n++] = "--tool=massif";
	}
	argv[n++] = "-q";
	argv[n++] = "--xtree-memory=allocs";
	argv[n++] = "--massif-out-file=o.out";
	argv[n++] = "--xtree-memory-file=/dev/null";
	argv[n++] = variant->option;
	argv[n++] = "sh";
	argv[n++] = "-c";
	snprintf(script, sizeof(script), "%s; echo ran; exit 3", variant->deed);
	argv[n++] = script;
	make_all();
	if (variant->nobody && chown("o.own", NOBODY, NOBODY))
		return;
	ctl_run(result, NULL, variant->nobody ? become_nobody : NULL, argv);
}

static void expect_left(struct __test_metadata *_metadata, const FIXTURE_VARIANT(outfile) * variant)
{
	char *text;

	if (variant->kept) {
		text = ctl_read_file(variant->kept);
		EXPECT_STREQ("word", text);
		free(text);
	}
	if (variant->written) {
		text = ctl_read_file(variant->written);
		EXPECT_TRUE(text && ctl_is_massif_file(text));
		free(text);
	}
}

/* A profile that cannot be written to the given file is saved in TMPDIR: complete, and readable only by its owner. */
static void expect_saved(struct __test_metadata *_metadata, const FIXTURE_VARIANT(outfile) * variant,
			 const char *err)
{
	char *saved = ctl_saved_file(err), *text = saved ? ctl_read_file(saved) : NULL;
	struct stat status;

	EXPECT_EQ(!variant->early, saved != NULL);
	if (saved) {
		EXPECT_EQ(0, strncmp(saved, getenv("TMPDIR"), strlen(getenv("TMPDIR"))));
		EXPECT_EQ(0, stat(saved, &status));
		EXPECT_EQ(0600, status.st_mode & 0777);
		EXPECT_TRUE(text && (ctl_is_massif_file(text) || strstr(text, "\nevents: ")));
		unlink(saved);
	}
	free(text);
	free(saved);
}

TEST_F_TIMEOUT(outfile, is_said, 60)
{
	if (!diff_can_run())
		SKIP(return, "valgrind is not installed");
	if (variant->nobody) {
		if (geteuid() != 0)
			SKIP(return, "needs root, to become somebody with fewer rights");
		ASSERT_EQ(0, chmod(".", 0777));
		ctl_run(&self->ours, NULL, become_nobody,
			(const char *const[]){ ctl_path(), "--version", NULL });
		if (ctl_exit_code(&self->ours) != 0)
			SKIP(return, "other users cannot reach massif-ctl here");
		ctl_result_free(&self->ours);
	}
	run(&self->theirs, variant, true);
	EXPECT_EQ(3, ctl_exit_code(&self->theirs));
	EXPECT_STREQ("ran\n", self->theirs.out);
	if (variant->theirs) {
		EXPECT_NE(NULL, strstr(self->theirs.err, variant->theirs));
	} else {
		EXPECT_STREQ("", self->theirs.err);
	}
	expect_left(_metadata, variant);

	run(&self->ours, variant, false);
	EXPECT_EQ(variant->early ? 1 : 3, ctl_exit_code(&self->ours));
	EXPECT_STREQ(variant->early ? "" : "ran\n", self->ours.out);
	EXPECT_EQ(0, strncmp(variant->ours, self->ours.err, strlen(variant->ours))) {
		TH_LOG("%s", self->ours.err);
	}
	expect_left(_metadata, variant);
	expect_saved(_metadata, variant, self->ours.err);
}

TEST_HARNESS_MAIN
