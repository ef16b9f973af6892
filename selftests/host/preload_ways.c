// SPDX-License-Identifier: GPL-2.0
// The result of a walk does not depend on the stack before: the same frames from other call sites, other frames
// in their place, and code without an object among them.

#include <alloca.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "preload/stack/rule_cache.h"
#include "selftests/lib/stack_walks.h"

static uint32_t seed = 1;
static uint32_t wrong_on_the_way;

static uint32_t choose(uint32_t n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static FRAME int wander(int n);

static FRAME int wander_aside(int n)
{
	volatile char room[40];

	room[0] = (char)n;
	return wander(n) + room[0];
}

static FRAME int wander_aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return wander(n) + line[0];
}

static FRAME int wander_variable(int n)
{
	volatile char *room = alloca(choose(3) * 16 + 1);

	room[0] = (char)n;
	return wander(n) + room[0];
}

/* The same frames repeatedly, each from several call sites, changed now in inner, now in outer frames. */
static FRAME int wander(int n)
{
	int sum = 0;

	for (uint32_t i = 0; n && i < 2; i++) {
		switch (choose(5)) {
		case 0:
			sum += wander_aside(n - 1);
			break;
		case 1:
			sum += wander_aligned(n - 1);
			break;
		case 2:
			sum += wander_variable(n - 1);
			break;
		case 3:
			sum += wander(n - 1);
			break;
		default:
			sum += wander_aside(n - 1);
		}
	}
	sum += walks_probe();
	wrong_on_the_way += walks_difference(&walks.compared) >= 0;
	return sum;
}

TEST(stacks_had_before)
{
	for (int i = 0; i < 300; i++)
		wander(1 + i % 7);
	EXPECT_EQ(0, wrong_on_the_way);
	EXPECT_EQ(0, walks.wrong_after_another);
	EXPECT_EQ(0, walks.wrong_in_memo);
	EXPECT_LT(1000, walks.hits);
	EXPECT_LT(1000, walks.recalls);
	TH_LOG("%u hits, %u of them without a hash, %u stacks remembered", walks.hits, walks.recalls, walks.n_remembered);
}

#define TURNS 9

static uint8_t turns[TURNS];
static volatile int passed;

static FRAME int turn(int n);

static FRAME int turn_small(int n)
{
	volatile char room[24];

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

/* A frame of the same size, in which a register is saved that no frame uses. */
static FRAME int turn_saving(int n)
{
	int value = passed;

	__asm__ volatile("" : "+r"(value) : : "rbp");
	return turn(n - 1) + value;
}

static FRAME int turn_large(int n)
{
	volatile char room[120];

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

static FRAME int turn_variable(int n, size_t size)
{
	volatile char *room = alloca(size);

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

/* Code without unwind tables but with a frame pointer, like that of a JIT. */
static int (*made[5])(int (*function)(int), int n);

static FRAME int turn_aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return turn(n - 1) + line[0];
}

/* Words next to the frame pointer that generated code saved, where a return address would be; none of them is one. */
static const uint64_t words[] = {
	1, UINT64_MAX, 0x8000000000000000, 0x1000, (uint64_t)(uintptr_t)&words[2], (uint64_t)(uintptr_t)turn,
	(uint64_t)(uintptr_t)turn_variable + 1, (uint64_t)(uintptr_t)&passed,
};

static uint64_t word;

/* A call site. The code after the call makes it distinct and prevents a tail call. */
#define TURN(number, call)             \
	case number:                   \
		sum = (call);          \
		passed = (number) + 1; \
		break

/* Calls each kind of function from two call sites. */
static FRAME int turn(int n)
{
	int sum = 0;

	if (!n)
		return walks_probe();
	switch (turns[n - 1]) {
	TURN(0, turn_small(n));
	TURN(1, turn_small(n));
	TURN(2, turn_saving(n));
	TURN(3, turn_saving(n));
	TURN(4, turn_large(n));
	TURN(5, turn_large(n));
	TURN(6, turn_variable(n, 16));
	TURN(7, turn_variable(n, 32));
	TURN(8, turn_aligned(n));
	TURN(9, turn_aligned(n));
	TURN(10, made[0](turn, n - 1));
	TURN(11, made[1](turn, n - 1));
	TURN(12, made[2](turn, n - 1));
	TURN(13, made[3](turn, n - 1));
	TURN(14, made[4](turn, n - 1));
	}
	return sum;
}

/*
 * Repeatedly changes a few frames of a stack to others, of the first @kinds, or to other call sites, and back.
 * Returns how many stacks differ from a complete unwinder's; or, if @n is not 0, do not have @n frames.
 */
static FRAME uint32_t turn_about(int times, uint32_t kinds, uint32_t n)
{
	uint8_t before[TURNS];
	uint32_t wrong = 0;

	for (int i = 0; i < times; i++) {
		if (i % 3 == 2) {
			memcpy(turns, before, sizeof(turns));
		} else {
			memcpy(before, turns, sizeof(turns));
			for (uint32_t changes = 1 + choose(3); changes; changes--)
				turns[choose(TURNS)] = (uint8_t)choose(kinds);
		}
		word = words[choose(sizeof(words) / sizeof(*words))];
		turn(TURNS);
		wrong += n ? walks.compared.n_ours != n : walks_difference(&walks.compared) >= 0;
	}
	return wrong;
}

TEST(other_ways_to_the_same_place)
{
	EXPECT_EQ(0, turn_about(6000, 10, 0));
	EXPECT_EQ(0, walks.wrong_after_another);
	EXPECT_EQ(0, walks.wrong_in_memo);
	EXPECT_EQ(0, walks.complete_steps);
}

static void make_code(void)
{
	static const uint8_t codes[][40] = {
		/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %esi,%edi; call *%rax; pop %rbp; ret */
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 },
		/* The code above at another address, with a frame of the same size. */
		{ 0x90, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 },
		/* The code above with sub $32,%rsp and leave. */
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff,
		  0xd0, 0xc9, 0xc3 },
		/*
		 * mov %rdi,%rax; mov $&word,%rdi; push %rbp; mov %rsp,%rbp; push (%rdi); push %rbp; mov %rsp,%rbp;
		 * mov %esi,%edi; call *%rax; pop %rbp; pop %rcx; pop %rbp; ret
		 */
		{ 0x48, 0x89, 0xf8, 0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5,
		  0xff, 0x37, 0x55, 0x48, 0x89, 0xe5, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0x59, 0x5d, 0xc3 },
		/* The code above with sub $32,%rsp and leave. */
		{ 0x48, 0x89, 0xf8, 0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5,
		  0x48, 0x83, 0xec, 0x20, 0xff, 0x37, 0x55, 0x48, 0x89, 0xe5, 0x89, 0xf7, 0xff, 0xd0,
		  0x5d, 0x59, 0xc9, 0xc3 },
	};
	const uint64_t *place = &word;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(code, codes[i], sizeof(codes[i]));
		if (codes[i][4] == 0xbf)
			memcpy((uint8_t *)code + 5, &place, sizeof(place));
		made[i] = (int (*)(int (*)(int), int))code;
	}
}

/*
 * Frames outside a guessed frame are recognised like others, but only if guesses are kept, that is, if the shim
 * notices changes of the mapped objects.
 */
TEST(ways_through_made_code)
{
	uint32_t n;

	EXPECT_EQ(0, turn_about(9, 10, 0));
	n = walks.compared.n_ours;
	walks.hits = 0;

	make_code();
	memset(turns, 10, sizeof(turns));
	for (int i = 0; i < 9; i++)
		turn(TURNS);
	EXPECT_FALSE(walks_repeatable());
	EXPECT_EQ(0, walks.hits);
	EXPECT_FALSE(mf_rule_cache_has_guessed());

	mf_rule_cache_keep_guesses = true;
	for (int i = 0; i < 9; i++)
		turn(TURNS);
	EXPECT_TRUE(walks_repeatable());
	EXPECT_LT(0, walks.hits);
	EXPECT_TRUE(mf_rule_cache_has_guessed());
	EXPECT_FALSE(mf_rule_cache_has_guessed());

	/* Each kind of generated code is one frame as before, although the stacks depend on different guesses. */
	EXPECT_EQ(0, turn_about(6000, 13, n));
	EXPECT_EQ(0, walks.wrong_after_another);
	EXPECT_EQ(0, walks.wrong_in_memo);
	EXPECT_EQ(0, walks.complete_steps);
	EXPECT_LT(1000, walks.hits);
	TH_LOG("%u hits, %u of them without a hash", walks.hits, walks.recalls);
}

/*
 * A JIT's code may save the frame pointer anywhere in its frame and point to it: the chain continues, but the
 * next word is not a return address.
 */
TEST(links_that_are_no_frames)
{
	uint32_t n;

	EXPECT_EQ(0, turn_about(9, 10, 0));
	n = walks.compared.n_ours;
	make_code();
	for (int heard = 0; heard < 2; heard++) {
		walks.hits = 0;
		memset(turns, 13, sizeof(turns));
		for (int i = 0; i < 9; i++)
			turn(TURNS);
		EXPECT_EQ(n - 1, walks.compared.n_ours); /* turn_about() is not on this stack */
		EXPECT_EQ(heard, walks_repeatable());
		EXPECT_EQ(0, turn_about(3000, 15, n));
		EXPECT_EQ(0, walks.wrong_after_another);
		EXPECT_EQ(0, walks.wrong_in_memo);
		mf_rule_cache_keep_guesses = true;
	}
	EXPECT_LT(100, walks.hits);
	EXPECT_EQ(0, walks.complete_steps);
}

static void turn_inside(void)
{
	turn(TURNS);
}

/* On a separate stack, which is neither the thread's nor near it. */
static uint32_t turn_on_another_stack(char *stack, size_t size)
{
	walks_call_on(stack, size, turn_inside);
	return walks.compared.n_ours;
}

/* Guesses work there as well, but other memory may be mapped there later, so the stack is not recognised again. */
TEST(made_code_on_another_stack)
{
	size_t size = 1 << 18;
	char *stack = malloc(size);
	uint32_t n;

	make_code();
	mf_rule_cache_keep_guesses = true;
	memset(turns, 0, sizeof(turns));
	n = turn_on_another_stack(stack, size);
	EXPECT_EQ(-1, walks_difference(&walks.compared));
	EXPECT_LT(2 * TURNS, n);
	EXPECT_TRUE(walks_repeatable());
	for (int i = 0; i < 1000; i++) {
		for (uint32_t j = 0; j < TURNS; j++)
			turns[j] = (uint8_t)choose(15);
		turns[choose(TURNS)] = (uint8_t)(10 + choose(5));
		word = words[choose(sizeof(words) / sizeof(*words))];
		EXPECT_EQ(n, turn_on_another_stack(stack, size));
		EXPECT_FALSE(walks_repeatable());
	}
	EXPECT_EQ(0, walks.wrong_after_another);
	EXPECT_EQ(0, walks.wrong_in_memo);
	free(stack);
}

TEST_HARNESS_MAIN
