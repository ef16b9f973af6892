// SPDX-License-Identifier: GPL-2.0
// Programs whose C or C++ library still holds memory at the end. Valgrind's Massif makes the library free it, and
// therefore checks for a peak at the end. massif-ctl does the same, so both files are equal up to that snapshot.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND "/usr/bin/valgrind"

enum { OURS, THEIRS, SIDES };

FIXTURE(freed) {
	struct ctl_result results[SIDES];
	char *files[SIDES];
};

FIXTURE_SETUP(freed)
{
	unsetenv("VALGRIND_OPTS");
	unsetenv("MASSIF_OPTS");
	setenv("HOME", "/nonexistent", 1);
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(freed)
{
	ctl_remove_files("massif.out");
}

/*
 * Runs the program under both profilers, with --time-unit=B and @options. Returns the number of additional snapshots in
 * Massif's file; they exist because Massif makes the C or C++ library free its memory at the end. Returns -1 if
 * Massif's file does not begin with the contents of massif-ctl's file.
 */
static int compare(struct _test_data_freed *self, const char *options[3], const char *const *program)
{
	static const char *const names[] = { "massif.out.ours", "massif.out.theirs" };
	int more = -1;

	for (int side = 0; side < SIDES; side++) {
		const char *argv[24] = { side ? VALGRIND : "massif-ctl" };
		char out[64], *text;
		size_t n = 1;

		if (side)
			argv[n++] = "--tool=massif";
		argv[n++] = "--time-unit=B";
		for (int i = 0; i < 3 && options[i]; i++)
			argv[n++] = options[i];
		snprintf(out, sizeof(out), "--massif-out-file=%s", names[side]);
		argv[n++] = out;
		for (int i = 0; program[i]; i++)
			argv[n++] = program[i];
		ctl_run(&self->results[side], NULL, NULL, argv);
		text = ctl_read_file(names[side]);
		self->files[side] = text ? massif_text_normalise(text) : strdup("");
		free(text);
	}
	if (*self->files[OURS] && strncmp(self->files[THEIRS], self->files[OURS], strlen(self->files[OURS])) == 0) {
		const char *rest = self->files[THEIRS] + strlen(self->files[OURS]);

		for (more = 0; (rest = strstr(rest, "snapshot=")); rest++)
			more++;
	} else {
		fprintf(stderr, "# %s is not the beginning of %s\n", names[OURS], names[THEIRS]);
	}
	return more;
}

static bool ends_with_peak(const char *text)
{
	return strncmp(ctl_last(text, "heap_tree="), "peak\n", 5) == 0;
}

static void forget(struct _test_data_freed *self)
{
	for (int side = 0; side < SIDES; side++) {
		free(self->files[side]);
		ctl_result_free(&self->results[side]);
	}
}

#define NEED_VALGRIND()                                        \
	do {                                                   \
		if (access(VALGRIND, X_OK))                    \
			SKIP(return, "there is no Valgrind");  \
	} while (0)

/*
 * The program allocates until it ends. The distance between its last snapshot and its end varies, and the end sometimes
 * triggers culling.
 */
TEST_F_TIMEOUT(freed, with_a_buffer, 300)
{
	static const char *const maxima[] = { "--max-snapshots=10", "--max-snapshots=11",
					      "--max-snapshots=20", "--max-snapshots=100" };
	uint32_t culled = 0, off_the_grid = 0, left_out = 0;

	NEED_VALGRIND();
	for (int i = 0; i < 4; i++) {
		for (int blocks = 7; blocks < 150; blocks += 5 + blocks / 4) {
			const char *options[3] = { maxima[i], "--threshold=0" };
			char number[16];
			const char *program[] = { ctl_target("ends"), "print", "0", number, "10000",
						  NULL };
			int n, more, max = atoi(maxima[i] + strlen("--max-snapshots="));

			snprintf(number, sizeof(number), "%d", blocks);
			more = compare(self, options, program);
			n = atoi(ctl_last(self->files[OURS], "snapshot=")) + 1;
			EXPECT_TRUE(ends_with_peak(self->files[OURS]));
			/*
			 * Massif takes an additional snapshot for the memory freed at the end. In this run, that
			 * snapshot triggered a culling, so the files cannot be compared.
			 */
			if (more < 0 && n == max - 1)
				left_out++;
			else
				ASSERT_LE(0, more) TH_LOG("%s %s", maxima[i], number);
			culled += n <= max / 2 + 1;
			off_the_grid += n < blocks;
			forget(self);
		}
	}
	/*
	 * Check that the runs covered enough cases: in more than 2 runs, the profile ended right after snapshots were
	 * culled; in more than 10, the program allocated more blocks than the profile has snapshots; and in fewer than
	 * 6, massif-ctl's profile could not be compared with Massif's.
	 */
	EXPECT_LT(2, culled);
	EXPECT_LT(10, off_the_grid);
	EXPECT_GT(6, left_out);
}

/* The program frees a block before it ends. Both profilers agree on whether the end is a peak. */
TEST_F_TIMEOUT(freed, below_the_peak, 60)
{
	static const char *const inaccuracies[] = { "--peak-inaccuracy=0.0", "--peak-inaccuracy=1.0",
						    "--peak-inaccuracy=40.0" };

	NEED_VALGRIND();
	for (int i = 0; i < 3; i++) {
		const char *options[3] = { inaccuracies[i] };
		const char *const program[] = { ctl_target("ends"), "print", "0", "30", "1000", "drop",
						NULL };

		ASSERT_LE(0, compare(self, options, program));
		/*
		 * stdio's buffer, which is allocated after the free, is larger than the freed block, so there is a new
		 * peak at the end of the program unless the increase is within the tolerance.
		 */
		EXPECT_EQ(i < 2, ends_with_peak(self->files[OURS]));
		forget(self);
	}
}

/* When a C++ program ends, Massif makes the C++ library free the pool that it reserves for exceptions. */
TEST_F_TIMEOUT(freed, with_a_pool, 60)
{
	const char *options[3] = { "--detailed-freq=3" };
	const char *const program[] = { ctl_target("heap_map"), NULL };

	NEED_VALGRIND();
	EXPECT_LT(0, compare(self, options, program));
	forget(self);
}

TEST_HARNESS_MAIN
