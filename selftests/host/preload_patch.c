// SPDX-License-Identifier: GPL-2.0
// Jumps that are written into code reach their targets, wherever the code and the targets are located, and leave
// everything else unchanged.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "preload/core/maps.h"
#include "preload/patch/patch.h"
#include "selftests/lib/code_memory.h"
#include "selftests/lib/refuse_call.h"

#define PAGE 4096u

typedef int function(void);

/* mov $1, %eax; ret; followed by bytes that must not change. */
static const uint8_t one[16] = { 0xb8, 1, 0, 0, 0, 0xc3, 0x90, 0x90, 1, 2, 3, 4, 5, 6, 7, 8 };

static int two(void)
{
	return 2;
}

static function *as_function(void *code)
{
	return (function *)code;
}

/* Maps pages of code at the address @place, with the code of one() at @offset. Returns NULL on failure. */
static uint8_t *map_code(uint64_t place, size_t pages, size_t offset, int protection)
{
	uint8_t *code = mmap((void *)(uintptr_t)place, pages * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (code == MAP_FAILED)
		return NULL;
	memcpy(code + offset, one, sizeof(one));
	mprotect(code, pages * PAGE, protection);
	return code;
}

static int protection_of(const void *address)
{
	struct mf_maps maps;
	struct mf_map map;
	int protection = -1;

	if (mf_maps_open(&maps))
		return -1;
	while (mf_maps_next(&maps, &map))
		if ((uintptr_t)address >= map.start && (uintptr_t)address < map.end)
			protection = map.protection;
	mf_maps_close(&maps);
	return protection;
}

static int patch(void *site, const void *target)
{
	const void *via;
	int code = mf_patch_prepare(site, target, &via);

	if (!code)
		code = mf_patch_seal();
	return code ? code : mf_patch_jump(site, via);
}

/*
 * Addresses at which programs have code: low fixed addresses, addresses in the middle of the address space, and an
 * address among the libraries, which the kernel chooses (0).
 */
static const uint64_t places[] = { 0x10000, 0x400000, 0x40000000, 0x10000000000, 0x555500000000,
				   0x7e0000000000, 0 };

#define N_PLACES (sizeof(places) / sizeof(places[0]))

TEST(a_jump_arrives_from_everywhere)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		uint8_t *code = map_code(places[i], 1, 64, PROT_READ | PROT_EXEC);

		if (!code && errno == EPERM)
			continue; /* mmap() fails if the address is lower than vm.mmap_min_addr */
		ASSERT_NE(NULL, code);
		EXPECT_EQ(1, as_function(code + 64)());
		errno = 77;
		ASSERT_EQ(0, patch(code + 64, two))
			TH_LOG("at %p", (void *)code);
		EXPECT_EQ(77, errno);
		EXPECT_EQ(2, as_function(code + 64)());
		EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code));
		EXPECT_EQ(0, memcmp(code + 64 + MF_PATCH_BYTES, one + MF_PATCH_BYTES,
				    sizeof(one) - MF_PATCH_BYTES));
		for (int j = 0; j < 64; j++)
			EXPECT_EQ(0, code[j]);
	}
}

TEST(a_near_target_is_reached_directly)
{
	uint8_t *code = map_code(0, 2, 0, PROT_READ | PROT_EXEC);
	const void *via;

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, mf_patch_prepare(code, code + PAGE, &via));
	EXPECT_EQ(code + PAGE, via);
}

TEST(code_on_two_pages)
{
	/* The second page has a different protection, which must not change. */
	uint8_t *code = map_code(0, 2, PAGE - 2, PROT_READ | PROT_EXEC);

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, mprotect(code + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	ASSERT_EQ(0, patch(code + PAGE - 2, two));
	EXPECT_EQ(2, as_function(code + PAGE - 2)());
	EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code));
	EXPECT_EQ(PROT_READ | PROT_WRITE | PROT_EXEC, protection_of(code + PAGE));
}

/*
 * Several writes to code can form a group. Within a group, a write reuses the mapping that the group looked up last if
 * it contains the code. At the end of the group, this mapping is forgotten.
 */
TEST(several_writes)
{
	uint8_t *code = map_code(0, 3, 0, PROT_READ | PROT_EXEC), byte = 0xc3;

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, mprotect(code + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	for (int turn = 0; turn < 2; turn++) {
		mf_patch_begin();
		for (uint32_t at = 0; at < 3 * PAGE; at += PAGE / 2) {
			ASSERT_EQ(0, mf_patch_write(code + at, &byte, 1));
			EXPECT_EQ(byte, code[at]);
		}
		/* Write across the boundary between two mappings. */
		ASSERT_EQ(0, mf_patch_write(code + 2 * PAGE - 1, "ab", 2));
		EXPECT_EQ(0, memcmp(code + 2 * PAGE - 1, "ab", 2));
		mf_patch_end();
		EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code));
		EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code + PAGE));
		EXPECT_EQ(PROT_READ | PROT_WRITE | PROT_EXEC, protection_of(code + 2 * PAGE));
		byte = 0x90;
	}
	mf_patch_begin();
	ASSERT_EQ(0, mf_patch_write(code, &byte, 1));
	mf_patch_end();
	ASSERT_EQ(0, munmap(code, PAGE));
	EXPECT_EQ(-EFAULT, mf_patch_write(code, &byte, 1));
}

TEST(code_that_ends_in_the_middle)
{
	uint8_t *code = map_code(0, 2, 0, PROT_READ | PROT_EXEC);
	uint8_t before[2];

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, munmap(code + PAGE, PAGE));
	memcpy(before, code + PAGE - 2, 2);
	EXPECT_EQ(-EFAULT, mf_patch_jump(code + PAGE - 2, code));
	EXPECT_EQ(0, memcmp(before, code + PAGE - 2, 2));
	EXPECT_EQ(-ERANGE, mf_patch_jump(code, (void *)((uintptr_t)code + (1ull << 40))));
}

TEST(room_is_in_reach_and_not_both_writable_and_executable)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		uint8_t *code = map_code(places[i], 1, 0, PROT_READ | PROT_EXEC);
		void *rooms[3];

		if (!code && errno == EPERM)
			continue;
		ASSERT_NE(NULL, code);
		for (int j = 0; j < 3; j++) {
			ASSERT_EQ(0, mf_patch_room(code, 40, &rooms[j]));
			EXPECT_EQ(0, (uintptr_t)rooms[j] % 16);
			EXPECT_TRUE(mf_jump_reaches((uintptr_t)code, (uintptr_t)rooms[j]));
			EXPECT_EQ(PROT_READ | PROT_WRITE, protection_of(rooms[j]));
			memset(rooms[j], 0xc3, 40);
		}
		EXPECT_GE((uintptr_t)rooms[1], (uintptr_t)rooms[0] + 40);
		ASSERT_EQ(0, mf_patch_seal());
		for (int j = 0; j < 3; j++)
			EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(rooms[j]));
	}
}

TEST(room_is_given_out_after_a_seal_and_when_it_is_used_up)
{
	uint8_t *code = map_code(0x20000000, 1, 0, PROT_READ | PROT_EXEC);
	void *first, *room;

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, mf_patch_room(code, 100, &first));
	memset(first, 0x90, 100);
	ASSERT_EQ(0, mf_patch_seal());
	for (int i = 0; i < 40; i++) {
		ASSERT_EQ(0, mf_patch_room(code, 10000, &room));
		memset(room, 0xc3, 10000);
		EXPECT_TRUE(mf_jump_reaches((uintptr_t)code, (uintptr_t)room));
		/* Sealed code stays executable all the time. */
		EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(first));
		if (i % 3 == 0)
			ASSERT_EQ(0, mf_patch_seal());
	}
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(0x90, ((uint8_t *)first)[i]);
	EXPECT_EQ(-ENOMEM, mf_patch_room(code, 65537, &room));
}

/*
 * If there is no room below the code, memory far above it is used, leaving room for a heap that grows directly above
 * the code.
 */
TEST(room_above_is_far_away)
{
	uint8_t *code = map_code(0x10000, 1, 0, PROT_READ | PROT_EXEC);
	void *room;

	if (!code)
		SKIP(return, "nothing can be mapped at 64 KiB here");
	ASSERT_EQ(0, mf_patch_room(code, 40, &room));
	EXPECT_GT((uintptr_t)room, 0x40000000);
}

static volatile int stop, runs;

/* Continuously executes the function at @code, while the test patches other functions on the same page. */
static void *run(void *code)
{
	long n = 0;

	while (!stop) {
		n += as_function(code)();
		runs = 1;
	}
	return (void *)n;
}

TEST(others_execute_the_same_page)
{
	uint8_t *code = map_code(0, 1, 0, PROT_READ | PROT_WRITE);
	pthread_t thread;
	void *n;

	ASSERT_NE(NULL, code);
	for (int i = 1; i < 200; i++)
		memcpy(code + 16 * i, one, sizeof(one));
	ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_EXEC));
	stop = runs = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, run, code));
	/* All 199 can be patched before a new thread gets a processor. */
	while (!runs)
		sched_yield();
	for (int i = 1; i < 200; i++) {
		ASSERT_EQ(0, patch(code + 16 * i, two));
		EXPECT_EQ(2, as_function(code + 16 * i)());
	}
	stop = 1;
	ASSERT_EQ(0, pthread_join(thread, &n));
	EXPECT_GT((long)n, 0);
}

TEST(where_code_cannot_be_written_nothing_changes)
{
	uint8_t *code = map_code(0x30000000, 2, PAGE - 2, PROT_READ | PROT_EXEC);

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, refuse_call(SYS_mprotect, 2, PROT_WRITE | PROT_EXEC));
	errno = 77;
	EXPECT_EQ(-EACCES, patch(code + PAGE - 2, two));
	EXPECT_EQ(77, errno);
	EXPECT_EQ(1, as_function(code + PAGE - 2)());
	EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code));
	EXPECT_EQ(PROT_READ | PROT_EXEC, protection_of(code + PAGE));
}

TEST(where_room_cannot_be_executed_it_is_not_used)
{
	uint8_t *code = map_code(0x30000000, 1, 0, PROT_READ | PROT_EXEC);
	void *first, *second;

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, refuse_call(SYS_mprotect, 2, PROT_EXEC));
	ASSERT_EQ(0, mf_patch_room(code, 40, &first));
	EXPECT_EQ(-EACCES, mf_patch_seal());
	ASSERT_EQ(0, mf_patch_room(code, 40, &second));
	EXPECT_EQ(first, second);
	EXPECT_EQ(-EACCES, patch(code, two));
	EXPECT_EQ(1, as_function(code)());
}

TEST(without_a_list_of_mappings_nothing_changes)
{
	uint8_t *code = map_code(0x30000000, 1, 0, PROT_READ | PROT_EXEC);
	struct rlimit none = { 0, 0 };

	ASSERT_NE(NULL, code);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	errno = 77;
	EXPECT_EQ(-EMFILE, mf_patch_jump(code, code + 8));
	EXPECT_EQ(-EMFILE, patch(code, two));
	EXPECT_EQ(77, errno);
	EXPECT_EQ(1, as_function(code)());
}

#define POOLS_MAX  4096u /* maximum number of memory pools near code; the same value as in preload/patch/patch.c */
#define POOL_BYTES 65536u

/*
 * In this test, each request for room near code requires a new pool of memory. If the maximum number of pools is
 * exceeded, the caller gets an error, and existing pools stay valid.
 */
TEST(pools)
{
	void *first = NULL, *room;
	unsigned int i;

	ASSERT_EQ(0, mf_patch_room((const void *)abort, POOL_BYTES, &first));
	memset(first, 0x5a, POOL_BYTES);
	for (i = 1; i < POOLS_MAX; i++) {
		ASSERT_EQ(0, mf_patch_room((const void *)abort, POOL_BYTES, &room)) {
			TH_LOG("%u", i);
		}
		*(volatile char *)room = 1;
	}
	EXPECT_EQ(POOLS_MAX * (size_t)POOL_BYTES, code_memory_bytes);
	for (; i < 10 * POOLS_MAX; i++)
		ASSERT_EQ(-ENOMEM, mf_patch_room((const void *)abort, POOL_BYTES, &room));
	EXPECT_EQ(POOLS_MAX * (size_t)POOL_BYTES, code_memory_bytes);
	EXPECT_EQ(0, mf_patch_seal());
	for (i = 0; i < POOL_BYTES; i++)
		ASSERT_EQ(0x5a, ((const unsigned char *)first)[i]);
}

TEST_HARNESS_MAIN
