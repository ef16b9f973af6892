// SPDX-License-Identifier: GPL-2.0
// A program that massif-ctl attach --heap attaches to and is killed. One thread repeats what the first word on the command
// line says, with known values in all registers, and compares them afterwards. The page that descriptor 3 maps tells the
// test how often it has, and what has gone wrong.

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SHARED_FD = 3, ROUND_MS = 4, VECTORS = 16, SPINS = 3000000, STACK = 65536, SMALL = 8192 };

/* Like the test's. */
static volatile struct shared {
	uint64_t rounds;
	int32_t failed; /* the line that found something wrong */
	int32_t error;
	uint64_t pairs;	  /* of malloc() and free(), by another thread */
	int32_t profiled; /* set by the test: the functions that are called now are to be kept */
} *shared;

/* The values that the program puts into its registers and compares later. raw_call() uses the offsets on the right. */
static struct values {
	uint64_t rax, rdi, rsi, rdx, r10, r8, r9, rbx, rbp, r12, r13, r14, r15; /* 0 to 96 */
	uint64_t flags, spins, has_avx; /* 104, 112, 120 */
	uint32_t mxcsr, x87;		/* 128, 132 */
	uint64_t rsp, pad[3];		/* 136 */
	double st;			/* 168 */
	uint8_t vectors[VECTORS][32];	/* 176 */
} in, out;

/* Loads @in, makes a system call, or spins if @in.spins is not 0, and stores the registers in @out. */
void raw_call(const struct values *values, struct values *result);

__asm__(".pushsection .text\n"
	".globl raw_call\n"
	"raw_call:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rsi; push %rdi\n"
	"	mov %rdi, %r11\n"
	"	ldmxcsr 128(%r11)\n"
	"	fldl 168(%r11)\n"
	"	cmpq $0, 120(%r11)\n"
	"	je 1f\n"
#define LOAD(n) "	vmovups 176 + 32 * " #n "(%r11), %ymm" #n "\n"
	LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
	LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
	"1:	mov 0(%r11), %rax; mov 8(%r11), %rdi; mov 16(%r11), %rsi; mov 24(%r11), %rdx\n"
	"	mov 32(%r11), %r10; mov 40(%r11), %r8; mov 48(%r11), %r9; mov 56(%r11), %rbx\n"
	"	mov 64(%r11), %rbp; mov 72(%r11), %r12; mov 80(%r11), %r13; mov 88(%r11), %r14\n"
	"	mov 96(%r11), %r15\n"
	"	mov 112(%r11), %rcx\n"
	"	pushq 104(%r11)\n"
	"	popfq\n"
	"	jrcxz 2f\n"
	/* Changes no flags. */
	"3:	lea -1(%rcx), %rcx\n"
	"	jrcxz 4f\n"
	"	jmp 3b\n"
	"2:	syscall\n"
	"4:	mov 8(%rsp), %rcx\n"
	"	mov %rsp, 136(%rcx)\n"
	"	mov %r11, 160(%rcx)\n"
	"	pushfq\n"
	"	popq 104(%rcx)\n"
	"	mov %rax, 0(%rcx); mov %rdi, 8(%rcx); mov %rsi, 16(%rcx); mov %rdx, 24(%rcx)\n"
	"	mov %r10, 32(%rcx); mov %r8, 40(%rcx); mov %r9, 48(%rcx); mov %rbx, 56(%rcx)\n"
	"	mov %rbp, 64(%rcx); mov %r12, 72(%rcx); mov %r13, 80(%rcx); mov %r14, 88(%rcx)\n"
	"	mov %r15, 96(%rcx)\n"
	"	stmxcsr 128(%rcx)\n"
	"	fstpl 168(%rcx)\n"
	"	mov (%rsp), %rsi\n"
	"	cmpq $0, 120(%rsi)\n"
	"	je 5f\n"
#define STORE(n) "	vmovups %ymm" #n ", 176 + 32 * " #n "(%rcx)\n"
	STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7)
	STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13) STORE(14) STORE(15)
	"	vzeroupper\n"
	"5:	pop %rdi; pop %rsi\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	".popsection\n");

static void fail_at(int line, int error)
{
	if (!shared->failed) {
		shared->error = error;
		shared->failed = line;
	}
}

#define CHECK(good) do {			\
	if (!(good))				\
		fail_at(__LINE__, errno);	\
} while (0)

static void check_mask(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, sizeof(mask));
	CHECK(mask == (1ull << (SIGHUP - 1) | 1ull << (SIGALRM - 1)));
}

/* Makes system call @number, or spins. Returns its result, after all registers have been checked. */
static int64_t call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	static uint64_t round;

	round++;
	in = (struct values){
		.rax = (uint64_t)number, .rdi = a, .rsi = b, .rdx = c, .r10 = d, .r8 = round,
		.r9 = FUTEX_BITSET_MATCH_ANY, .rbx = round * 3, .rbp = round * 5,
		.r12 = round * 7, .r13 = round * 11, .r14 = round * 13, .r15 = round * 17,
		/* Overflow, sign, zero, adjust, parity, carry: some of them. */
		.flags = 0x202 | (round & 1 ? 0x8d4 : 0x001), .spins = number < 0 ? SPINS : 0,
		.has_avx = __builtin_cpu_supports("avx") != 0, .mxcsr = round & 1 ? 0x1fa0 : 0x1f80, .st = (double)round,
	};
	for (int i = 0; i < VECTORS; i++)
		memset(in.vectors[i], (int)(round + (uint64_t)i), sizeof(in.vectors[i]));
	memset(&out, 0, sizeof(out));
	errno = (int)(round % 100) + 1;
	raw_call(&in, &out);
	CHECK(errno == (int)(round % 100) + 1);
	CHECK(!memcmp(&in.rdi, &out.rdi, offsetof(struct values, flags) - offsetof(struct values, rdi)));
	CHECK(number >= 0 || in.rax == out.rax);
	CHECK(((in.flags ^ out.flags) & ~0x10000ull) == 0);
	CHECK((in.mxcsr & ~0x3fu) == (out.mxcsr & ~0x3fu));
	CHECK(in.st == out.st);
	CHECK(!in.has_avx || !memcmp(in.vectors, out.vectors, sizeof(in.vectors)));
	check_mask();
	return (int64_t)out.rax;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleeps(void)
{
	struct timespec time = { .tv_nsec = ROUND_MS * 1000000 };
	int64_t from = now_ns();

	CHECK(call(SYS_nanosleep, (uintptr_t)&time, 0, 0, 0) == 0);
	CHECK(now_ns() - from >= ROUND_MS * 1000000);
}

static void polls(void)
{
	int64_t from = now_ns();

	CHECK(call(SYS_poll, 0, 0, ROUND_MS, 0) == 0);
	CHECK(now_ns() - from >= ROUND_MS * 1000000);
}

static void waits(void)
{
	static int word;
	int64_t until = now_ns() + ROUND_MS * 1000000;
	struct timespec time = { until / 1000000000, until % 1000000000 };

	CHECK(call(SYS_futex, (uintptr_t)&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, (uintptr_t)&time) == -ETIMEDOUT);
	CHECK(now_ns() >= until);
}

static int pipe_in = -1;

/* A child writes bytes that count. */
static void start_writer(void)
{
	int ends[2];

	if (pipe(ends))
		_exit(90);
	if (fork()) {
		close(ends[1]);
		pipe_in = ends[0];
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ends[0]);
	for (uint8_t byte = 0;; byte++) {
		nanosleep(&(struct timespec){ .tv_nsec = ROUND_MS * 1000000 }, NULL);
		if (write(ends[1], &byte, 1) != 1)
			_exit(0);
	}
}

static void reads(void)
{
	static uint8_t expected;
	uint8_t byte = 0;

	CHECK(call(SYS_read, (uint64_t)pipe_in, (uintptr_t)&byte, 1, 0) == 1);
	CHECK(byte == expected++);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms++;
}

static void start_alarms(void)
{
	const struct itimerval often = { { 0, ROUND_MS * 1000 }, { 0, ROUND_MS * 1000 } };
	const struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

/* Waits with another mask for a signal that is blocked otherwise. */
static void suspends(void)
{
	uint64_t mask = 1ull << (SIGHUP - 1);
	int before = alarms;

	CHECK(call(SYS_rt_sigsuspend, (uintptr_t)&mask, sizeof(mask), 0, 0) == -EINTR);
	CHECK(alarms > before);
}

static void spins(void)
{
	call(-1, 1, 2, 3, 4);
}

/* The functions as another thread has found them: after an attach, those of the shim. */
static void *(*volatile kept_malloc)(size_t);
static void (*volatile kept_free)(void *);

/* Calls the functions that were found when the program was profiled, so that a copy of the shim always has callers. */
static void *keep_calling(void *unused)
{
	for (;;) {
		void *block;

		kept_malloc = shared->profiled ? malloc : kept_malloc ? kept_malloc : malloc;
		kept_free = shared->profiled ? free : kept_free ? kept_free : free;
		/* Calls often, but is seldom found in one. */
		for (int i = 0; i < 500; i++) {
			block = kept_malloc((size_t)i);
			CHECK(block);
			kept_free(block);
			for (volatile int j = 0; j < 1000; j++)
				;
		}
		shared->pairs += 500;
	}
	return NULL;
}

static void start_keeper(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, keep_calling, NULL);
}

static const struct {
	const char *word;
	void (*start)(void);
	void (*once)(void);
} kinds[] = {
	{ "sleeps", NULL, sleeps }, { "polls", NULL, polls },		     { "waits", NULL, waits },
	{ "keeps", start_keeper, sleeps },
	{ "reads", start_writer, reads }, { "suspends", start_alarms, suspends }, { "spins", NULL, spins },
};

static void (*once)(void);

static void run(void)
{
	for (;;) {
		once();
		for (int i = 0; i < 3; i++) {
			void *volatile block = malloc(100);

			CHECK(block);
			free(block);
		}
		shared->rounds++;
	}
}

/* Runs on a small stack, below which nothing may be written: there is no memory. */
static void run_on_small_stack(void)
{
	static ucontext_t here, there;
	char *stack = mmap(NULL, STACK + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack, 4096, PROT_NONE);
	getcontext(&there);
	there.uc_stack.ss_sp = stack + 4096;
	there.uc_stack.ss_size = SMALL;
	makecontext(&there, run, 0);
	swapcontext(&here, &there);
}

int main(int argc, char **argv)
{
	const uint64_t mask = 1ull << (SIGHUP - 1) | 1ull << (SIGALRM - 1);
	const char *word = argc > 1 ? argv[1] : "";

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		return 91;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].word, word))
			continue;
		once = kinds[i].once;
		if (kinds[i].start)
			kinds[i].start();
		if (argc > 2)
			run_on_small_stack();
		else
			run();
	}
	return 92;
}
