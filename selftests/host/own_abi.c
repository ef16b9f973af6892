// SPDX-License-Identifier: GPL-2.0
// Register and stack conventions: a program's own allocator, whose callers rely on it to preserve most registers and to
// work with an unaligned stack; and the C library's allocator, called with any stack alignment.

#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

FIXTURE(abi) {
	struct ctl_result alone, result;
};

FIXTURE_SETUP(abi)
{
}

FIXTURE_TEARDOWN(abi)
{
	ctl_remove_files("massif.out.abi");
	ctl_result_free(&self->alone);
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(abi) {
	const char *target;
	const char *args[4];
	const char *needs; /* required CPU feature */
};

#define PROGRAM(name, target_name, ...) \
	FIXTURE_VARIANT_ADD(abi, name) { .target = #target_name, ##__VA_ARGS__ }
#define ARGS(...) .args = { __VA_ARGS__ }

PROGRAM(ipa, own_ipa);
PROGRAM(ipa_plain, own_ipa_plain);
PROGRAM(ipa_o3, own_ipa_o3);
PROGRAM(ipa_frames, own_ipa_frames);
PROGRAM(ipa_avx2, own_ipa_avx2, .needs = "avx2");
PROGRAM(ipa_avx512, own_ipa_avx512, .needs = "avx512");
PROGRAM(registers, own_registers, ARGS("20", "1"));
PROGRAM(registers_and_thread, own_registers, ARGS("20", "2", "thread"));
PROGRAM(misaligned, heap_misaligned);
PROGRAM(misaligned_thread, heap_misaligned, ARGS("thread"));

static bool has(const char *what)
{
	if (!what)
		return true;
	__builtin_cpu_init();
	if (!strcmp(what, "avx2"))
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw");
}

/* Options with which events take longer code paths than usual. */
static const char *const options[] = {
	"--time-unit=ms", "--time-unit=B", "--detailed-freq=1", "--peak-inaccuracy=0.0", "--depth=1",
	"--stacks=yes", "--xtree-memory=full", "--merge-recursive-frames=2", "--ignore-fn=nobody",
	"--heap-extra=real", "-v",
};

/*
 * With each option, the program must exit with status 0 and produce the same output as without massif. The program
 * prints either the registers that it finds changed, or the results of computations that go wrong if a register is
 * changed.
 */
TEST_F_TIMEOUT(abi, is_kept, 120)
{
	if (!has(variant->needs))
		SKIP(return, "this processor has no %s", variant->needs);
	CTL_RUN(&self->alone, ctl_target(variant->target), variant->args[0], variant->args[1], variant->args[2]);
	ASSERT_EQ(0, self->alone.status);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--massif-out-file=massif.out.abi",
			"--xtree-memory-file=massif.out.abi.xtree", options[i], ctl_target(variant->target),
			variant->args[0], variant->args[1], variant->args[2]);
		EXPECT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s", options[i]);
		}
		EXPECT_STREQ(self->alone.out, self->result.out);
	}
}

static const struct {
	const char *target, *needs;
} compiled[] = {
	{ "own_ipa_plain", NULL }, { "own_ipa", NULL },		 { "own_ipa_o3", NULL },
	{ "own_ipa_frames", NULL }, { "own_ipa_avx2", "avx2" }, { "own_ipa_avx512", "avx512" },
};

/* The same blocks are counted no matter how the program was compiled. */
TEST(counts_the_same)
{
	struct heap_session_sums expected = { 0 }, sums;

	for (size_t i = 0; i < sizeof(compiled) / sizeof(compiled[0]); i++) {
		struct heap_session session = { 0 };

		if (!has(compiled[i].needs))
			continue;
		ASSERT_TRUE(heap_session_run(&session, (const char *[]){ ctl_target(compiled[i].target), NULL }));
		sums = heap_session_sum(&session);
		EXPECT_EQ(0, session.status);
		EXPECT_EQ(0, session.store.header->events_lost);
		heap_session_end(&session);
		if (!i)
			expected = sums;
		EXPECT_LT(80000, sums.n_blocks);
		EXPECT_EQ(expected.n_blocks, sums.n_blocks) {
			TH_LOG("%s", compiled[i].target);
		}
		EXPECT_EQ(expected.model, sums.model);
		EXPECT_EQ(sums.model, sums.contexts);
		EXPECT_EQ(sums.model, sums.blocks);
	}
}

TEST_HARNESS_MAIN
