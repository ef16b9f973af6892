// SPDX-License-Identifier: GPL-2.0
// Tests the module's stack cache, in which it keeps known stacks: a stack is recognised if, and only if, everything
// reported about it matches.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"

#define RING	(4 << 20)
#define KNOWN	(1 << 20)
#define PAGE	4096UL
#define USER	1000
#define NUMBER	4711
#define RBP	6
#define RSP	7
#define RIP	16

/* A child process that executes one-letter commands and answers each with a letter, until end of file. */
struct worker {
	int ask[2];
	int answer[2];
	pid_t pid;
};

/* Addresses in the call stack of the child's mmap() call, which the child writes to shared memory for the test. */
struct said {
	uint64_t returns[2];	/* return addresses of raw_mmap and of its caller */
	/* stack addresses at which the return addresses of raw_mmap and of its caller are stored */
	uint64_t slots[2];
};

static struct said *said;

/* Two functions that call raw_mmap() and differ only in their addresses. */
#define CALLER(name) \
__attribute__((noinline)) static void name(void) \
{ \
	raw_mmap(__builtin_frame_address(0)); \
	asm volatile("" : : : "memory"); \
}

/* Maps one page with a bare syscall instruction. This function and @caller both have a frame pointer. */
__attribute__((noinline)) static void raw_mmap(void *caller)
{
	register long r10 asm("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long r8 asm("r8") = -1;
	register long r9 asm("r9") = 0;
	uint64_t *mine = __builtin_frame_address(0), *outer = caller;
	long ret;

	said->slots[0] = (uintptr_t)(mine + 1);
	said->slots[1] = (uintptr_t)(outer + 1);
	said->returns[0] = mine[1];
	said->returns[1] = outer[1];
	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"((long)SYS_mmap), "D"(0L), "S"(PAGE), "d"((long)PROT_NONE), "r"(r10),
		       "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
}

CALLER(one)
CALLER(other)

static void move(void)
{
	static char *at;

	/* The addresses after the mapping are unused, so that it can move there. */
	if (!at) {
		at = mmap(NULL, 1024 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(at + 4 * PAGE, 1020 * PAGE);
	}
	at = mremap(at, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 64 * PAGE);
}

static void unmap_code(int prot)
{
	munmap(mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

/* Maps code, or makes it non-executable and unmaps it, always at the same address. */
static void change_code(bool comes)
{
	static void *at;

	if (comes) {
		at = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else {
		mprotect(at, PAGE, PROT_NONE);
		munmap(at, PAGE);
	}
}

static int work(void *arg)
{
	struct worker *worker = arg;
	void (*volatile call)(void);
	char letter;

	close(worker->ask[1]);
	close(worker->answer[0]);
	while (read(worker->ask[0], &letter, 1) == 1) {
		/*
		 * Both callers of raw_mmap() are called from a single place, so that the stacks differ only in the
		 * callers' frames.
		 */
		call = letter == '2' ? other : one;
		switch (letter) {
		case '1':
		case '2':
			call();
			break;
		case 'm':
			move();
			break;
		case 'd':
			unmap_code(PROT_READ);
			break;
		case 'x':
			unmap_code(PROT_READ | PROT_EXEC);
			break;
		case 'c':
			change_code(true);
			break;
		case 'p':
			change_code(false);
			break;
		case 'u':
			prctl(PR_SET_DUMPABLE, 0);
			break;
		}
		if (write(worker->answer[1], &letter, 1) != 1)
			return 1;
	}
	return 0;
}

/* The last MAP and STACK records that have been read. */
struct seen {
	struct massif_rec_map map;
	struct massif_rec_stack *stack; /* a copy of the STACK record; NULL: none */
};

FIXTURE(known)
{
	struct kmod_session session;
	struct worker worker;
	struct seen seen;
	struct massif_status status;
	struct {
		struct massif_stack_cache_stack head;
		struct massif_stack_cache_word words[8];
	} told;
};

FIXTURE_VARIANT(known)
{
	uint64_t flags;
};

FIXTURE_VARIANT_ADD(known, short) { 0 };
FIXTURE_VARIANT_ADD(known, verified) { MASSIF_SETUP_VERIFY };

static int start(struct worker *worker, struct kmod_session *session)
{
	if (pipe(worker->ask) || pipe(worker->answer))
		return -errno;
	worker->pid = kmod_session_call(session, work, worker);
	close(worker->ask[0]);
	close(worker->answer[1]);
	return worker->pid < 0 ? worker->pid : 0;
}

static void stop(struct worker *worker)
{
	kill(worker->pid, SIGKILL);
	waitpid(worker->pid, NULL, 0);
	close(worker->ask[1]);
	close(worker->answer[0]);
}

FIXTURE_SETUP(known)
{
	struct massif_setup setup = {
		.flags = variant->flags,
		.ring_bytes = RING,
		.max_stack_bytes = 8192,
		.known_bytes = KNOWN,
	};

	said = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)said);
	ASSERT_EQ(0, kmod_session_open_as(&self->session, &setup));
	ASSERT_EQ(0, start(&self->worker, &self->session));
}

FIXTURE_TEARDOWN(known)
{
	stop(&self->worker);
	free(self->seen.stack);
	kmod_session_close(&self->session);
}

/* Sends a command and reads the resulting records. Returns false if the child does not answer. */
static bool ask(struct kmod_session *session, struct worker *worker, struct seen *seen, char letter)
{
	const struct massif_record *rec;
	char answer;

	if (write(worker->ask[1], &letter, 1) != 1 || read(worker->answer[0], &answer, 1) != 1)
		return false;
	free(seen->stack);
	memset(seen, 0, sizeof(*seen));
	while ((rec = kmod_session_next(session))) {
		if (rec->type == MASSIF_REC_MAP)
			memcpy(&seen->map, rec, sizeof(seen->map));
		if (rec->type == MASSIF_REC_STACK && rec->capture == seen->map.h.capture) {
			free(seen->stack);
			seen->stack = malloc(rec->size);
			memcpy(seen->stack, rec, rec->size);
		}
	}
	kmod_session_release(session);
	return true;
}

/* Reports to the module the stack words that an unwinder would read to unwind the two frames of the last stack copy. */
static int tell(FIXTURE_DATA(known) *self)
{
	const struct massif_rec_stack *stack = self->seen.stack;
	struct massif_stack_cache_stack *head = &self->told.head;
	struct massif_stack_cache_word *words = self->told.words;
	int i;

	if (!stack || !stack->bytes)
		return -ENOENT;
	memset(&self->told, 0, sizeof(self->told));
	*head = (struct massif_stack_cache_stack){
		.size = sizeof(*head) + 3 * sizeof(*words),
		.target = stack->h.target,
		.number = NUMBER,
		.code_gen = stack->code_gen,
		.pc = stack->regs[RIP],
		.sp = stack->regs[RSP],
		.nr_regs = 1,
		.nr_slots = 2,
	};
	words[0].place = RBP;
	words[0].value = stack->regs[RBP];
	for (i = 0; i < 2; i++) {
		words[1 + i].place = said->slots[i] - head->sp;
		words[1 + i].value = said->returns[i];
	}
	return kmod_session_tell(&self->session, head, head->size);
}

/*
 * Returns whether the module recognised the last mapping's stack. How the records show this depends on @flags, the
 * setup flags of the session.
 */
static bool recognised(const struct seen *seen, uint64_t flags)
{
	if (flags & MASSIF_SETUP_VERIFY)
		return !(seen->map.h.flags & MASSIF_RF_KNOWN) && seen->stack &&
		       seen->stack->known == NUMBER && seen->stack->bytes;
	return seen->map.h.flags == MASSIF_RF_KNOWN && seen->map.h.capture == NUMBER &&
	       !seen->stack;
}

static bool captured(const struct seen *seen)
{
	return !seen->map.h.flags && seen->map.h.capture && seen->stack && !seen->stack->known &&
	       seen->stack->bytes;
}

#define ASK(letter) ASSERT_TRUE(ask(&self->session, &self->worker, &self->seen, letter))

TEST_F_TIMEOUT(known, is_recognised_until_a_word_differs, 60)
{
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
	ASSERT_EQ(1, tell(self));
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
	/*
	 * The child calls mmap from a different place, so one return address on its stack differs from the known stack.
	 */
	ASK('2');
	EXPECT_TRUE(captured(&self->seen));
	EXPECT_EQ(self->told.head.sp, self->seen.stack->sp);
	EXPECT_EQ(self->told.head.pc, self->seen.stack->regs[RIP]);
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	EXPECT_EQ(2, self->status.known_used);
	EXPECT_EQ(1, self->status.known_stacks);
	EXPECT_LT(0, self->status.known_bytes);
	EXPECT_EQ(0, self->status.known_forgotten);
	EXPECT_EQ(0, self->status.captures_limited);
}

TEST_F_TIMEOUT(known, a_register_differs, 60)
{
	ASK('1');
	ASSERT_EQ(1, tell(self));
	self->told.head.words[0].value++;
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
	/* If a stack is reported to the module again under the same number, it replaces the one in the cache. */
	self->told.head.words[0].value--;
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	EXPECT_EQ(1, self->status.known_stacks);
}

TEST_F_TIMEOUT(known, a_word_cannot_be_read, 60)
{
	ASK('1');
	ASSERT_EQ(1, tell(self));
	/* Claim that a stack has a word far above the stack pointer, beyond the end of its mapping. */
	self->told.head.words[2].place = MASSIF_STACK_MAX - 8;
	self->told.head.words[2].value = 0;
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
}

TEST_F_TIMEOUT(known, of_another_target, 60)
{
	ASK('1');
	ASSERT_EQ(1, tell(self));
	self->told.head.target++;
	self->told.head.number++;
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
}

TEST_F_TIMEOUT(known, is_forgotten_when_code_goes, 60)
{
	ASK('1');
	ASSERT_EQ(1, tell(self));
	ASK('d');
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
	ASK('x');
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
	/*
	 * If the consumer reports the stack words of an outdated stack copy, the stack cache must ignore them, so the
	 * stack is copied again.
	 */
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
	ASSERT_EQ(1, tell(self));
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
}

/* Code that was made non-executable before it was unmapped is noticed when other code is mapped. */
TEST_F_TIMEOUT(known, is_forgotten_when_code_comes, 60)
{
	ASK('c');
	ASK('1');
	ASSERT_EQ(1, tell(self));
	ASK('1');
	EXPECT_TRUE(recognised(&self->seen, variant->flags));
	ASK('p');
	ASK('c');
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
}

/*
 * An mremap that moves a mapping gets a STACK record of its own, even if the module finds the stack in its stack cache.
 * In that case, the STACK record contains the stack's number in the cache.
 */
TEST_F_TIMEOUT(known, of_a_move, 60)
{
	uint64_t *words;
	uint32_t i;

	ASK('m');
	ASK('m');
	ASSERT_NE(NULL, self->seen.stack);
	EXPECT_EQ(MASSIF_MAP_MREMAP_COPY, self->seen.map.kind);
	words = (void *)((char *)self->seen.stack + self->seen.stack->data_off);
	memset(&self->told, 0, sizeof(self->told));
	self->told.head = (struct massif_stack_cache_stack){
		.size = sizeof(self->told.head) + 4 * sizeof(self->told.words[0]),
		.target = self->seen.stack->h.target,
		.number = NUMBER,
		.code_gen = self->seen.stack->code_gen,
		.pc = self->seen.stack->regs[RIP],
		.sp = self->seen.stack->sp,
		.nr_slots = 4,
	};
	for (i = 0; i < 4; i++)
		self->told.words[i] = (struct massif_stack_cache_word){ .value = words[i], .place = 8 * i };
	ASSERT_EQ(1, kmod_session_tell(&self->session, &self->told, self->told.head.size));
	ASK('m');
	EXPECT_EQ(0, self->seen.map.h.flags);
	ASSERT_NE(NULL, self->seen.stack);
	EXPECT_EQ(NUMBER, self->seen.stack->known);
	EXPECT_EQ(!!variant->flags, !!self->seen.stack->bytes);
}

TEST_F_TIMEOUT(known, nonsense_is_refused, 60)
{
	struct massif_stack_cache_stack *head = &self->told.head;
	struct massif_stack_cache_word *word = self->told.words;
	struct massif_stack_cache known = { .size = sizeof(known) };
	uint32_t size;

	ASK('1');
	ASSERT_EQ(1, tell(self));
	size = head->size;
#define REFUSED(change, undo) do { \
	change; \
	EXPECT_EQ(-EINVAL, kmod_session_tell(&self->session, head, size)); \
	undo; \
} while (0)
	REFUSED(head->number = 0, head->number = NUMBER);
	REFUSED(head->size += 8, head->size = size);
	REFUSED(head->size = 0, head->size = size);
	REFUSED(head->nr_slots++, head->nr_slots--);
	REFUSED(head->nr_slots = 0xfffffffe, head->nr_slots = 2);
	REFUSED(head->nr_regs = 0xffffffff, head->nr_regs = 1);
	REFUSED(word[0].place = MASSIF_X86_64_REGS, word[0].place = RBP);
	REFUSED(word[1].place = MASSIF_STACK_MAX - 7, word[1].place = 8);
	REFUSED(word[1].place = 0xffffffff, word[1].place = 8);
	REFUSED(word[2].__pad = 1, word[2].__pad = 0);
	EXPECT_EQ(-EINVAL, kmod_session_tell(&self->session, head, size - 8));
	EXPECT_EQ(-EINVAL, kmod_session_tell(&self->session, head, 4));
	EXPECT_EQ(-EINVAL, kmod_session_tell(&self->session, head, MASSIF_KNOWN_BATCH + 8));
	EXPECT_EQ(-EFAULT, kmod_session_tell(&self->session, (void *)8, size));
	EXPECT_EQ(0, kmod_session_tell(&self->session, NULL, 0));
	/* If the consumer reports a stack pointer outside user space, the module never finds the stack in its cache. */
	head->sp = 0xffff888000000000;
	EXPECT_EQ(1, kmod_session_tell(&self->session, head, size));
	ASK('1');
}

/* However many stacks are reported, the memory for known stacks stays limited, and the stacks in use are kept. */
TEST_F_TIMEOUT(known, room_is_bounded, 120)
{
	struct massif_stack_cache_stack *head = &self->told.head;
	uint32_t i;

	ASK('1');
	ASSERT_EQ(1, tell(self));
	for (i = 1; i < 20000; i++) {
		if (i % 512 == 0) {
			ASK('1');
			EXPECT_TRUE(recognised(&self->seen, variant->flags));
		}
		head->number = NUMBER + i;
		head->pc += i;
		ASSERT_EQ(1, kmod_session_tell(&self->session, head, head->size));
		head->pc -= i;
	}
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	/* The buckets of the cache's hash table, 8 bytes for every 512 of the cache, are among its memory. */
	EXPECT_GE(KNOWN - KNOWN / 512 * 8, self->status.known_bytes);
	EXPECT_LT(KNOWN / 2, self->status.known_bytes);
	EXPECT_LT(1000, self->status.known_forgotten);
	EXPECT_EQ(20000, self->status.known_stacks + self->status.known_forgotten);
	/*
	 * A lookup tries all stacks with the same program counter and stack pointer, so the number of such stacks is
	 * limited.
	 */
	for (i = 0; i < 100; i++) {
		head->number++;
		head->words[2].value++;
		ASSERT_EQ(1, kmod_session_tell(&self->session, head, head->size));
	}
	ASK('1');
	EXPECT_TRUE(captured(&self->seen));
}

TEST(none_without_memory_for_them)
{
	struct kmod_session session;
	struct massif_stack_cache_stack stack = { .size = sizeof(stack), .number = 1 };

	ASSERT_EQ(0, kmod_session_open(&session, RING, 8192));
	EXPECT_EQ(-EOPNOTSUPP, kmod_session_tell(&session, &stack, sizeof(stack)));
	kmod_session_close(&session);
}

/* An unprivileged user who may not read a stack must not be able to guess its contents. */
static int guess_undumpable(void)
{
	struct massif_setup setup = {
		.ring_bytes = RING,
		.max_stack_bytes = 8192,
		.known_bytes = KNOWN,
	};
	struct {
		struct massif_stack_cache_stack head;
		struct massif_stack_cache_word word;
	} told = { .head = { .size = sizeof(told), .number = NUMBER, .nr_slots = 1 } };
	struct kmod_session session;
	struct worker worker;
	struct seen seen = { 0 };

	if (kmod_session_open_as(&session, &setup) || start(&worker, &session))
		return 1;
	if (!ask(&session, &worker, &seen, '1') || !captured(&seen))
		return 2;
	told.head.target = seen.stack->h.target;
	told.head.code_gen = seen.stack->code_gen;
	told.head.pc = seen.stack->regs[RIP];
	told.head.sp = seen.stack->sp;
	told.word.value = *(uint64_t *)((char *)seen.stack + seen.stack->data_off);
	if (kmod_session_tell(&session, &told, sizeof(told)) != 1)
		return 3;
	if (!ask(&session, &worker, &seen, '1') || !recognised(&seen, 0))
		return 4;
	if (!ask(&session, &worker, &seen, 'u') || !ask(&session, &worker, &seen, '1'))
		return 5;
	if (seen.map.h.type || seen.stack)
		return 6;
	stop(&worker);
	return 0;
}

TEST(of_an_undumpable_process_is_not_recognised)
{
	int status;
	pid_t pid;

	said = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
	pid = fork();
	if (!pid) {
		if (kmod_session_allow() || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
		    prctl(PR_SET_DUMPABLE, 1))
			_exit(20);
		_exit(guess_undumpable());
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, chmod(MASSIF_DEVICE, 0660));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
