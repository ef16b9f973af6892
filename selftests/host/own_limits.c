// SPDX-License-Identifier: GPL-2.0
// More allocation functions in a program than the shim has room for: those that cannot be intercepted run as usual and
// are reported by massif-ctl.
//
// With symbol versions, a library can have any number of functions named malloc; the library is generated here as
// assembly.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define BYTES	   1000ull /* number of bytes requested by each call of own_many */
/* how many functions the shim can take over; the same value as in preload/patch/takeover.c */
#define TAKEN_MAX  1024
#define JUMPS_MAX  64

FIXTURE(own) {
	struct ctl_result result, alone;
	char *text;
};

FIXTURE_SETUP(own)
{
}

FIXTURE_TEARDOWN(own)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	ctl_result_free(&self->alone);
	free(self->text);
}

/* All generated functions return memory from a single array, which is never reused. */
static const char giver[] =
	"	.text\n"
	"give:	mov	next(%%rip), %%rax\n"
	"	lea	room(%%rip), %%rcx\n"
	"	add	%%rax, %%rcx\n"
	"	add	$1008, %%rax\n"
	"	mov	%%rax, next(%%rip)\n"
	"	mov	%%rcx, %%rax\n"
	"	ret\n"
	"	.bss\n"
	"	.balign	16\n"
	"next:	.skip	16\n"
	"room:	.skip	1008 * %u\n"
	"	.section .note.GNU-stack, \"\", @progbits\n"
	"	.text\n";

static const char whole_body[] =
	"0:	sub	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	nopl	0(%rax)\n"
	"	call	give\n"
	"	add	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n";

/* The function is only two bytes long, so there is no room for a patch. */
static const char jump_body[] = "	.byte	0xeb, 0b - . - 1\n";

static void write_function(FILE *file, unsigned int number, const char *body)
{
	fprintf(file,
		"	.globl	malloc_%u\n"
		"	.type	malloc_%u, @function\n"
		"	.symver	malloc_%u, malloc@V%u\n"
		"malloc_%u:\n"
		"	.cfi_startproc\n"
		"%s"
		"	.cfi_endproc\n"
		"	.size	malloc_%u, . - malloc_%u\n",
		number, number, number, number, number, body, number, number);
}

/* Number of functions within reach of a two-byte jump. */
#define JUMPS_OF_ONE 32

/*
 * Generates the library many.so with @whole ordinary functions and @jumps functions that each consist of a single
 * two-byte jump. For every group of JUMPS_OF_ONE jump functions, there is one further ordinary function, the target of
 * all jumps in the group. Returns the number of functions.
 */
static unsigned int make_library(struct __test_metadata *_metadata, FIXTURE_DATA(own) *self, unsigned int whole,
				 unsigned int jumps)
{
	unsigned int n = 0, all = whole + jumps + (jumps + JUMPS_OF_ONE - 1) / JUMPS_OF_ONE;
	FILE *file = fopen("many.s", "w");

	if (!file)
		return 0;
	fprintf(file, giver, all);
	while (whole--)
		write_function(file, n++, whole_body);
	for (unsigned int i = 0; i < jumps; i++) {
		if (i % JUMPS_OF_ONE == 0)
			write_function(file, n++, whole_body);
		write_function(file, n++, jump_body);
	}
	fclose(file);
	file = fopen("many.map", "w");
	if (!file)
		return 0;
	for (unsigned int i = 0; i < all; i++)
		fprintf(file, "V%u { global: malloc; };\n", i);
	fclose(file);
	ctl_result_free(&self->alone);
	CTL_RUN(&self->alone, "gcc", "-shared", "-nostdlib", "-Wl,--version-script=many.map", "-o", "many.so", "many.s");
	EXPECT_EQ(0, ctl_exit_code(&self->alone)) {
		TH_LOG("%s", self->alone.err);
	}
	return all;
}

/* Returns the bytes allocated by main's calls: the largest entry directly below a tree's root. */
static uint64_t bytes_of_main(const char *text)
{
	uint64_t most = 0;

	for (const char *line = text; line; line = strchr(line + 1, '\n')) {
		const char *end = strchr(line + 1, '\n');
		uint64_t bytes;

		if (sscanf(line, "\n n0: %" SCNu64 " ", &bytes) == 1 && bytes > most &&
		    memmem(line, (size_t)(end - line), "main (own_many.c:", 17))
			most = bytes;
	}
	return most;
}

/*
 * Calls all functions of a library made by make_library(), once without and once under massif-ctl; both runs must
 * behave the same. The profile must contain the blocks of all but @uncounted of the functions, and massif-ctl must
 * report the @missed functions that it could not intercept.
 */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(own) *self, unsigned int whole, unsigned int jumps,
		  unsigned int uncounted, unsigned int missed)
{
	unsigned int all = make_library(_metadata, self, whole, jumps);
	char count[16];

	ASSERT_NE(0, all);
	snprintf(count, sizeof(count), "%u", all);
	ctl_result_free(&self->alone);
	ctl_result_free(&self->result);
	free(self->text);
	CTL_RUN(&self->alone, ctl_target("own_many"), "./many.so", count);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--peak-inaccuracy=0.0", "--threshold=0",
		"--massif-out-file=massif.out.own", ctl_target("own_many"), "./many.so", count);
	EXPECT_EQ(0, ctl_exit_code(&self->alone));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ(self->alone.out, self->result.out);
	if (!missed) {
		EXPECT_STREQ("", self->result.err);
	} else {
		EXPECT_NE(NULL, strstr(self->result.err, "malloc is defined by "));
		EXPECT_NE(NULL, strstr(self->result.err, "could not be intercepted"));
		EXPECT_EQ(missed > 1, !!strstr(self->result.err, "; the same applies to other functions"));
	}
	self->text = ctl_read_file("massif.out.own");
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(BYTES * (all - uncounted), bytes_of_main(self->text)) {
		TH_LOG("%u functions and %u jumps", whole, jumps);
	}
}

TEST_F_TIMEOUT(own, functions, 300)
{
	check(_metadata, self, TAKEN_MAX, 0, 0, 0);
	check(_metadata, self, TAKEN_MAX + 1, 0, 1, 1);
	check(_metadata, self, 10 * TAKEN_MAX, 0, 9 * TAKEN_MAX, 9 * TAKEN_MAX);
}

/*
 * Calls to functions that only jump to an intercepted function are counted as well, whether or not the shim had room to
 * record the jumps.
 */
TEST_F_TIMEOUT(own, jumps, 300)
{
	check(_metadata, self, 0, JUMPS_MAX, 0, 0);
	check(_metadata, self, 0, JUMPS_MAX + 1, 0, 1);
	check(_metadata, self, 0, 10 * JUMPS_MAX, 0, 9 * JUMPS_MAX);
}

TEST_HARNESS_MAIN
