// SPDX-License-Identifier: GPL-2.0
// heap_requests MODE: makes client requests in difficult situations. Exits with status 0 if everything is correct.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <valgrind/valgrind.h>

#include "preload/massif.h"

#define BLOCK(i) ((void *)(0x10000ul + (i) * 64))

static const unsigned char sequence[19] = {
	0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
	0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb,
};

static int failures;

static void check(int holds, const char *what)
{
	if (holds)
		return;
	printf("not so: %s\n", what);
	failures++;
}

/* The instructions of a client request, written in assembly language; the same as in valgrind.h. */
#define REQUEST                                             \
	"rolq $3, %%rdi\n\t rolq $13, %%rdi\n\t"            \
	"rolq $61, %%rdi\n\t rolq $51, %%rdi\n\t xchgq %%rbx, %%rbx\n\t"

enum { GENERAL = 14, VECTORS = 32, MASKS = 8, ZONE = 16 };

/* The processor's registers before and after a client request. */
static struct state {
	uint64_t general[GENERAL]; /* the general registers rbx rcx rsi rdi rbp r8..r15, and rax */
	uint64_t vectors[VECTORS][8] __attribute__((aligned(64)));
	uint64_t masks[MASKS];
	uint64_t zone[ZONE];
	uint32_t mxcsr;
	uint16_t control;
	double x87;
} before __attribute__((used)), after __attribute__((used));

static uint64_t args[6] __attribute__((used)), result __attribute__((used));

#define EACH16(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH32(X)                                                                       \
	EACH16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) \
		X(28) X(29) X(30) X(31)
#define EACH8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#define LOAD_XMM(i)  "movups " #i "*64(%%r11), %%xmm" #i "\n\t"
#define STORE_XMM(i) "movups %%xmm" #i ", " #i "*64(%%r11)\n\t"
#define LOAD_YMM(i)  "vmovups " #i "*64(%%r11), %%ymm" #i "\n\t"
#define STORE_YMM(i) "vmovups %%ymm" #i ", " #i "*64(%%r11)\n\t"
#define LOAD_ZMM(i)  "vmovups " #i "*64(%%r11), %%zmm" #i "\n\t"
#define STORE_ZMM(i) "vmovups %%zmm" #i ", " #i "*64(%%r11)\n\t"
#define LOAD_MASK(i)  "kmovw " #i "*8(%%r11), %%k" #i "\n\t"
#define STORE_MASK(i) "kmovw %%k" #i ", " #i "*8(%%r11)\n\t"
#define LOAD_ZONE(i)  "movq " #i "*8(%%r11), %%r10\n\t movq %%r10, -8-" #i "*8(%%rsp)\n\t"
#define STORE_ZONE(i) "movq -8-" #i "*8(%%rsp), %%r10\n\t movq %%r10, " #i "*8(%%r11)\n\t"

#define GENERALS(X) \
	X(0, rbx) X(1, rcx) X(2, rsi) X(3, rdi) X(5, r8) X(6, r9) X(7, r10) X(9, r12) X(10, r13) \
		X(11, r14) X(12, r15) X(4, rbp) X(8, r11)
#define LOAD_GENERAL(i, name)  "movq before+" #i "*8(%%rip), %%" #name "\n\t"
#define STORE_GENERAL(i, name) "movq %%" #name ", after+" #i "*8(%%rip)\n\t"

/*
 * Loads all registers from `before`, makes a request, and stores all registers to `after`. @load and @store are the
 * instructions for vector registers.
 */
#define TRY(load, store)                                                                  \
	__asm__ volatile("pushq %%rbp\n\t"                                                \
			 "pushq %%rbx\n\t"                                                \
			 "subq $512, %%rsp\n\t"                                           \
			 "leaq %c[vectors]+before(%%rip), %%r11\n\t" load                 \
			 "leaq %c[zone]+before(%%rip), %%r11\n\t" EACH16(LOAD_ZONE)       \
			 "leaq args(%%rip), %%rax\n\t"                                    \
			 "movl $4711, %%edx\n\t" GENERALS(LOAD_GENERAL)                   \
			 REQUEST GENERALS(STORE_GENERAL)                                  \
			 "movq %%rax, after+13*8(%%rip)\n\t"                              \
			 "movq %%rdx, result(%%rip)\n\t"                                  \
			 "leaq %c[zone]+after(%%rip), %%r11\n\t" EACH16(STORE_ZONE)       \
			 "leaq %c[vectors]+after(%%rip), %%r11\n\t" store                 \
			 "addq $512, %%rsp\n\t"                                           \
			 "popq %%rbx\n\t"                                                 \
			 "popq %%rbp\n\t"                                                 \
			 :                                                                \
			 : [vectors] "i"(offsetof(struct state, vectors)),                \
			   [zone] "i"(offsetof(struct state, zone)),                      \
			   [masks] "i"(offsetof(struct state, masks))                     \
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",   \
			   "r12", "r13", "r14", "r15", "memory", "cc")

__attribute__((target("avx512f"), noinline)) static void try_avx512(void)
{
	TRY(EACH32(LOAD_ZMM) "leaq before+%c[masks](%%rip), %%r11\n\t" EACH8(LOAD_MASK),
	    EACH32(STORE_ZMM) "leaq after+%c[masks](%%rip), %%r11\n\t" EACH8(STORE_MASK));
}

__attribute__((target("avx"), noinline)) static void try_avx(void)
{
	TRY(EACH16(LOAD_YMM), EACH16(STORE_YMM));
}

__attribute__((noinline)) static void try_sse(void)
{
	TRY(EACH16(LOAD_XMM), EACH16(STORE_XMM));
}

static void fill(void *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)memory)[i] = (unsigned char)rand();
}

/*
 * Loads the registers from `before`, makes a client request, and stores the registers to `after`, so that the caller
 * can compare them. Returns the size in bytes of each vector register that was stored.
 */
static size_t try(void)
{
	if (__builtin_cpu_supports("avx512f")) {
		try_avx512();
		return 64;
	}
	if (__builtin_cpu_supports("avx")) {
		try_avx();
		return 32;
	}
	try_sse();
	return 16;
}

static void registers(void)
{
	static const struct {
		uint64_t request, a, b, c, result;
	} requests[] = {
		{ 0x1301, 0x5000, 100, 0, 0 },  { 0x130b, 0x5000, 100, 33, 0 },
		{ 0x1302, 0x5000, 0, 0, 0 },	{ 0x1302, 0x123456, 0, 0, 0 },
		{ 0x1202, 0, 0, 0, 0 },		{ 0x1001, 0, 0, 0, 4711 },
		{ 0x1303, 1, 2, 3, 4711 },
	};
	uint32_t mxcsr = 0x5f80; /* a rounding mode other than the default: up */
	size_t bytes;
	double kept = 1.25;

	for (size_t i = 0; i < 50 * sizeof(requests) / sizeof(requests[0]); i++) {
		size_t which = i % (sizeof(requests) / sizeof(requests[0]));

		args[0] = requests[which].request;
		args[1] = requests[which].a;
		args[2] = requests[which].b;
		args[3] = requests[which].c;
		if (args[0] == 0x1202)
			args[1] = (uint64_t)(uintptr_t)"snapshot heap_requests.snapshot";
		fill(before.general, sizeof(before.general));
		fill(before.vectors, sizeof(before.vectors));
		fill(before.zone, sizeof(before.zone));
		for (int j = 0; j < MASKS; j++)
			before.masks[j] = (uint64_t)(rand() & 0xffff);
		memset(&after, 0, sizeof(after));
		__asm__ volatile("ldmxcsr %0\n\t fldl %1" : : "m"(mxcsr), "m"(kept));
		bytes = try();
		__asm__ volatile("stmxcsr %0\n\t fstpl %1" : "=m"(after.mxcsr), "=m"(after.x87));
		before.general[13] = (uint64_t)(uintptr_t)args;
		check(!memcmp(before.general, after.general, sizeof(before.general)),
		      "general registers are kept");
		for (int j = 0; j < (bytes == 64 ? 32 : 16); j++)
			check(!memcmp(before.vectors[j], after.vectors[j], bytes),
			      "vectors are kept");
		check(bytes < 64 || !memcmp(before.masks, after.masks, sizeof(before.masks)),
		      "masks are kept");
		check(!memcmp(before.zone, after.zone, sizeof(before.zone)),
		      "what lies below the stack pointer is kept");
		check(after.mxcsr == mxcsr && after.x87 == kept, "floating point is as it was");
		/* Without a profiler, the client request has its default result. */
		check(result == (massif_is_there() ? requests[which].result : 4711),
		      "the result is right");
	}
}

/* Executes a client request whose code begins @offset bytes before the end of a page. */
#define AT(offset)                                                                         \
	__asm__ volatile(".p2align 12, 0x90\n\t"                                           \
			 ".fill 4096 - " #offset ", 1, 0x90\n\t" REQUEST                   \
			 : "=d"(result)                                                    \
			 : "a"(&(volatile uint64_t[6]){ 0x1301, 0x20000 + offset * 64, 1000 + offset }), \
			   "0"(0ul)                                                        \
			 : "cc", "memory");

__attribute__((noinline)) static void edges(void)
{
	AT(1) AT(2) AT(3) AT(4) AT(5) AT(6) AT(7) AT(8) AT(9) AT(10)
	AT(11) AT(12) AT(13) AT(14) AT(15) AT(16) AT(17) AT(18) AT(19) AT(20)
}

/*
 * Constants that only look like a client request must not be changed. In this program, constants may be in the code
 * segment.
 */
static void constants(void)
{
	static const unsigned char high[2] = { 0x48, 0xc1 };

	check(!memcmp(sequence, high, 2) && sequence[2] == 0xc7 && sequence[3] == 3 &&
		      sequence[4] == 0x48 && sequence[18] == 0xdb,
	      "constants are as they were");
	VALGRIND_MALLOCLIKE_BLOCK(BLOCK(1), 1234, 0, 0);
}

/* Makes a client request. Its instructions must still be intact after they have been executed. */
__attribute__((noinline)) static void request(void)
{
	VALGRIND_MALLOCLIKE_BLOCK(BLOCK(1), 77, 0, 0);
}

static void code(void)
{
	const unsigned char *at = (const unsigned char *)request;

	request();
	check(memmem(at, 256, sequence, sizeof(sequence)) != NULL, "code is as it was");
}

static void *open_library(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/libheap_requests.so");
	return dlopen(path, RTLD_NOW);
}

/* Checks that a library that is loaded and unloaded many times leaves no generated code behind. */
static void reload(void)
{
	char line[4096];
	int mappings = 0;
	FILE *maps;

	for (int i = 0; i < 3000; i++) {
		void *library = open_library();
		void (*make)(void *, size_t) = library ? dlsym(library, "heap_requests_make") : NULL;
		const unsigned char *there = library ? dlsym(library, "heap_requests_there") : NULL;

		if (!make || !there) {
			check(0, "the library can be loaded");
			return;
		}
		check(there[0] == 0x48 && there[4] == 0x48, "its constants are as they were");
		make(BLOCK(i), 3);
		dlclose(library);
	}
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		mappings += strstr(line, " r-xp 00000000 00:00 0") && !strchr(line, '[');
	check(mappings <= 3, "there is no more code than at first");
	if (maps)
		fclose(maps);
}

static volatile int done;

__attribute__((noinline)) static void churn(unsigned long thread)
{
	for (unsigned long i = 0; i < 40; i++)
		VALGRIND_MALLOCLIKE_BLOCK(BLOCK(thread * 1000 + i), 16 * i + thread, 0, 0);
	for (unsigned long i = 0; i < 40; i++)
		VALGRIND_RESIZEINPLACE_BLOCK(BLOCK(thread * 1000 + i), 0, 7 * i, 0);
	for (unsigned long i = 0; i < 40; i++)
		VALGRIND_FREELIKE_BLOCK(BLOCK(thread * 1000 + i), 0);
}

static void *churns(void *thread)
{
	while (!done)
		churn((unsigned long)(uintptr_t)thread);
	return NULL;
}

/* Signal handler. Each call reports a block of its own, because the handler may run in several threads at a time. */
static void on_signal(int number)
{
	static unsigned long n;
	unsigned long i = __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 1000;

	VALGRIND_MALLOCLIKE_BLOCK(BLOCK(100000 + i), 50, 0, 0);
	VALGRIND_FREELIKE_BLOCK(BLOCK(100000 + i), 0);
}

/* Makes client requests in threads and signal handlers. At the end, only one block is live. */
static void storm(void)
{
	struct itimerval timer = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[4];

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churns, (void *)(i + 1));
	usleep(700000);
	done = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	timer.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	VALGRIND_MALLOCLIKE_BLOCK(BLOCK(0), 12345, 0, 0);
	VALGRIND_MONITOR_COMMAND("detailed_snapshot heap_requests.snapshot");
}

/* Tests massif_stop() and massif_start() with blocks reported by client requests and with blocks from malloc. */
static void stopped(void)
{
	void *counted = malloc(100), *freed = malloc(200), *not_counted, *later;

	massif_malloc_like(BLOCK(1), 1000);
	massif_malloc_like(BLOCK(2), 2000);
	massif_stop();
	massif_malloc_like(BLOCK(3), 4000); /* a block reported while massif is stopped is not counted */
	massif_free_like(BLOCK(1));
	/* a counted block is still counted after it has been resized while massif is stopped */
	massif_resize_like(BLOCK(2), 3000);
	/* a block that was not counted before is not counted after a resize either */
	massif_resize_like(BLOCK(4), 5000);
	not_counted = malloc(7777);
	later = malloc(8888);
	/* if a counted block from malloc is resized while massif is stopped, it is still counted */
	counted = realloc(counted, 500);
	free(freed);
	massif_start();
	massif_free_like(BLOCK(3)); /* freeing a block that was not counted changes nothing */
	free(not_counted);	     /* freeing a block that was not counted changes nothing */
	later = realloc(later, 60000); /* a block is counted from its first realloc after massif_start() */
	massif_malloc_like(BLOCK(5), 100000);
	check(massif_snapshot_to("heap_requests.snapshot") == 0, "a snapshot can be written");
	check(massif_snapshot_to("/dev/null/heap_requests") == -1, "it says where it cannot");
	free(counted);
	free(later);
}

static void nothing(void)
{
	massif_snapshot_to("heap_requests.snapshot");
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "registers", registers }, { "edges", edges }, { "constants", constants },
	{ "code", code },	    { "reload", reload }, { "storm", storm },
	{ "stopped", stopped },	    { "nothing", nothing },
};

int main(int argc, char **argv)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0) {
			modes[i].run();
			return failures != 0;
		}
	}
	fprintf(stderr, "heap_requests: no such mode\n");
	return 2;
}
