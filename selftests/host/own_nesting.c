// SPDX-License-Identifier: GPL-2.0
// If one of the program's allocation functions calls another one, the inner call counts as part of the outer call. A
// call that is not nested counts by itself, even if an earlier call was left without returning, was interrupted, or is
// suspended on another stack.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

FIXTURE(nesting) {
	struct heap_session session;
};

FIXTURE_SETUP(nesting)
{
}

FIXTURE_TEARDOWN(nesting)
{
	heap_session_end(&self->session);
}

/* The number of blocks of @size bytes that must be live when the program ends. */
struct expected {
	uint64_t size, n;
};

FIXTURE_VARIANT(nesting) {
	const char *way;
	struct expected expected[5];
};

#define WAY(name, ...) \
	FIXTURE_VARIANT_ADD(nesting, name) { .way = #name, .expected = { __VA_ARGS__, { 8, 0 }, { 7, 0 } } }

WAY(longjmp, { 1001, 900 }, { 1002, 90 });
WAY(longjmps, { 1001, 400 });
WAY(siglongjmp, { 1001, 900 });
WAY(siglongjmp_stack, { 1001, 900 });
WAY(handler, { 1001, 10 }, { 1002, 300 }, { 1003, 100 });
WAY(handler_stack, { 1001, 10 }, { 1002, 300 }, { 1003, 100 });
WAY(coroutine, { 1001, 10 }, { 1002, 640 }, { 1003, 100 });

TEST_F(nesting, counts_once)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("own_escapes"), variant->way, NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->events_lost);
	for (const struct expected *expected = variant->expected; expected->size; expected++) {
		EXPECT_EQ(expected->n, heap_session_count(&self->session, expected->size)) {
			TH_LOG("size %lu", expected->size);
		}
	}
	/* The size of the last block that the signal handler allocates. */
	EXPECT_EQ(strstr(variant->way, "handler") ? 10 : 0, heap_session_count(&self->session, 1203));
}

/*
 * gcc's split stacks: the allocator runs on a different piece of the stack from its caller. That piece is at a
 * different address in each run of the program, and is reached through a function in libgcc. The test builds the
 * program itself, and is skipped if gold, the linker that split stacks require, is missing.
 */
TEST(on_a_split_stack)
{
	static const char allocator[] =
		"typedef unsigned long size_t; void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t);\n"
		"static char arena[64 << 20]; static size_t used;\n"
		"void *malloc(size_t n) { char *p = arena + used + 16; *(size_t *)(p - 16) = n;\n"
		"	used += (n + 31) & ~15ul; return p; }\n"
		"void free(void *p) { __asm__ volatile(\"\" : : \"r\"(p)); }\n"
		"void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }\n"
		"void *realloc(void *p, size_t n) { void *q = malloc(n); size_t old = p ? ((size_t *)p)[-2] : 0;\n"
		"	memcpy(q, p, old < n ? old : n); free(p); return q; }\n";
	static const char program[] =
		"typedef unsigned long size_t; void *malloc(size_t); void *calloc(size_t, size_t);\n"
		"void *realloc(void *, size_t); void free(void *);\n"
		"static void *volatile kept;\n"
		"__attribute__((noinline)) static void deep(int d) { volatile char room[3000]; room[0] = (char)d;\n"
		"	if (d) deep(d - 1); kept = malloc(1001); kept = calloc(2, 501); kept = realloc(malloc(7), 1003);\n"
		"	room[1] = room[0]; }\n"
		"int main(void) { for (int i = 0; i < 10; i++) deep(9); return 0; }\n";
	struct heap_session session = { 0 };

	ctl_write_file("nesting_allocator.c", allocator, 0644);
	ctl_write_file("nesting_program.c", program, 0644);
	if (system("gcc -w -O1 -fsplit-stack -fuse-ld=gold -fno-builtin -o nesting_split nesting_allocator.c "
		   "nesting_program.c 2>/dev/null") || system("./nesting_split")) {
		ctl_remove_files("nesting_");
		SKIP(return, "there is no gcc with split stacks, or no gold");
	}
	for (int run = 0; run < 8; run++) {
		ASSERT_TRUE(heap_session_run(&session, (const char *[]){ "./nesting_split", NULL }));
		EXPECT_EQ(0, session.status);
		EXPECT_EQ(100, heap_session_count(&session, 1001));
		EXPECT_EQ(100, heap_session_count(&session, 1002));
		EXPECT_EQ(100, heap_session_count(&session, 1003));
		EXPECT_EQ(0, heap_session_count(&session, 7));
		EXPECT_EQ(301, heap_session_sum(&session).n_blocks + 1);
		heap_session_end(&session);
	}
	ctl_remove_files("nesting_");
}

TEST_HARNESS_MAIN
