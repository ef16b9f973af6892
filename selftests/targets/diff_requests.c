// SPDX-License-Identifier: GPL-2.0
// diff_requests MODE: announces blocks of its own with Valgrind's client requests, using the original valgrind.h. Each
// mode always makes the same requests.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>

#define ONE  ((void *)0x10000)
#define TWO  ((void *)0x20000)
#define FAR  ((void *)0x7123456789a0)

static char arena[1 << 20] __attribute__((aligned(4096)));

__attribute__((noinline)) static void make(void *block, size_t size)
{
	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
	/* Prevents a tail call, so that this function has a frame. */
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void end(void *block)
{
	VALGRIND_FREELIKE_BLOCK(block, 0);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void resize(void *block, size_t from, size_t to)
{
	VALGRIND_RESIZEINPLACE_BLOCK(block, from, to, 0);
	__asm__ volatile("" : : : "memory");
}

/* Uses client requests to report blocks of many sizes, at usual and unusual addresses. */
static void blocks(void)
{
	static const size_t sizes[] = { 1, 15, 16, 17, 0, 31, 32, 33, 1000, 4096, 65537, 4194241, 5000000 };
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < n; i++)
		make(arena + i * 16, sizes[i]);
	for (size_t i = 0; i < n; i++)
		make(arena + 4096 + i * 19, sizes[i]);
	for (size_t i = 0; i < n; i += 2)
		end(arena + i * 16);
	for (size_t i = 1; i < n; i += 2)
		end(arena + 4096 + i * 19);
	VALGRIND_MALLOCLIKE_BLOCK(arena, 100, 16, 0);
	VALGRIND_MALLOCLIKE_BLOCK(arena + 200, 100, 0, 1);
	VALGRIND_MALLOCLIKE_BLOCK(0, 100, 0, 0);
	VALGRIND_FREELIKE_BLOCK(arena, 16);
}

static void twice(void)
{
	make(ONE, 100);
	make(ONE, 2000);
	make(TWO, 300);
	make(ONE, 40000);
	for (int i = 0; i < 4; i++)
		end(ONE);
	make(ONE, 500);
	end(TWO);
	end(TWO);
}

static void unknown(void)
{
	end(ONE);
	end(NULL);
	make(TWO, 64);
	end(ONE);
	end((char *)TWO + 1);
	end((char *)TWO + 16);
	resize(ONE, 10, 1000);
	resize(FAR, 10, 50);
	end(TWO);
}

static void resizes(void)
{
	make(ONE, 100);
	resize(ONE, 100, 1000);
	resize(ONE, 1000, 10);
	resize(ONE, 10, 10);
	resize(ONE, 777, 20); /* the old size passed in a resize request is not checked */
	resize(ONE, 20, 0);
	resize(ONE, 0, 30000);
	make(ONE, 5);
	resize(ONE, 5, 6);
	end(ONE);
	end(ONE);
}

/* A pool in a block from malloc(). The first object of the pool has the same address as the block. */
static void pool(void)
{
	char *memory = malloc(100000);

	for (int i = 0; i < 50; i++)
		make(memory + i * 1000, (size_t)(i * 13 + 8));
	for (int i = 1; i < 50; i += 2)
		end(memory + i * 1000);
	end(memory);
	for (int i = 2; i < 50; i += 2)
		end(memory + i * 1000);
	free(memory);

	/* A pool (a block containing blocks reported by client requests) is freed before the first of these blocks. */
	memory = malloc(5000);
	make(memory, 100);
	make(memory + 100, 200);
	free(memory);
	end(memory);
	end(memory + 100);

	/* Resize a block that is used as a pool: it contains another block, which is reported by a client request. */
	memory = malloc(200000);
	make(memory, 300);
	memory = realloc(memory, 300000);
	end(memory);
}

/* Grows and shrinks repeatedly, so that there are peaks and many snapshots. */
static void waves(void)
{
	for (int wave = 1; wave <= 12; wave++) {
		for (int i = 0; i < wave * 10; i++)
			make(arena + i * 1024, (size_t)(100 + 7 * i));
		for (int i = wave * 10; i-- > 0;)
			end(arena + i * 1024);
	}
}

/* Makes requests in inlined code, twice in a function, in recursion, and in main. */
static inline __attribute__((always_inline)) void inlined(void *block, size_t size)
{
	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
}

__attribute__((noinline)) static void two_places(char *block)
{
	inlined(block, 10);
	inlined(block + 16, 20);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void deep(char *block, int depth)
{
	if (depth)
		deep(block + 64, depth - 1);
	inlined(block, (size_t)depth + 1);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline, optimize("omit-frame-pointer"))) static void with_alloca(char *block, int n)
{
	volatile char *space = __builtin_alloca((size_t)n);

	space[0] = 1;
	inlined(block, (size_t)n);
	__asm__ volatile("" : : : "memory");
}

static void places(void)
{
	two_places(arena);
	deep(arena + 4096, 100);
	with_alloca(arena + 65536, 1000);
	with_alloca(arena + 65552, 10000);
	for (int i = 0; i < 5; i++)
		two_places(arena + 32 * i);
}

/* The functions of the program's own allocator. */
__attribute__((noinline)) static char *my_take(size_t size)
{
	static size_t used;
	char *block = arena + used;

	used += (size + 15) & ~(size_t)15;
	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
	return block;
}

__attribute__((noinline)) static char *my_alloc(size_t size)
{
	char *block = my_take(size);

	block[0] = 1;
	return block;
}

__attribute__((noinline)) static char *my_other(size_t size)
{
	char *block = my_take(size + 1);

	block[0] = 2;
	return block;
}

static void allocator(void)
{
	char *blocks[20];

	for (int i = 0; i < 20; i++) {
		blocks[i] = i % 3 ? my_alloc((size_t)i * 10) : my_other((size_t)i * 10);
		free(malloc(24));
	}
	for (int i = 0; i < 20; i += 2)
		end(blocks[i]);
}

static void handler(int signal)
{
	make(arena + signal * 16, 1000);
}

static void handlers(void)
{
	signal(SIGUSR1, handler);
	make(arena, 10);
	raise(SIGUSR1);
	end(arena + SIGUSR1 * 16);
}

static void *thread(void *block)
{
	make(block, 1234);
	end(arena);
	return NULL;
}

static void threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		make(arena, 99);
		pthread_create(&threads[i], NULL, thread, arena + 4096 * (i + 1));
		pthread_join(threads[i], NULL);
	}
}

/* Loads, unloads and reloads a library. */
static void plugin(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/libdiff_requests.so");
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(path, RTLD_NOW);
		void *(*make_there)(size_t) = library ? dlsym(library, "diff_requests_make") : NULL;
		void (*end_there)(void *) = library ? dlsym(library, "diff_requests_end") : NULL;
		void *block;

		if (!make_there || !end_there)
			exit(3);
		block = make_there(100);
		make_there(200);
		end_there(block);
		if (i < 2)
			dlclose(library);
	}
}

/*
 * A forked child uses client requests to report a block, and to report that the block reported by its parent has been
 * freed.
 */
static void forks(void)
{
	make(ONE, 1000);
	if (!fork()) {
		make(TWO, 50000);
		end(ONE);
		_exit(0);
	}
	wait(NULL);
	end(ONE);
}

/*
 * Makes requests that Massif does not handle. Except for RUNNING_ON_VALGRIND, they behave as they would without a
 * profiler.
 */
static void others(void)
{
	unsigned long value = 0;

	VALGRIND_CREATE_MEMPOOL(arena, 0, 0);
	VALGRIND_MEMPOOL_ALLOC(arena, arena + 64, 100);
	VALGRIND_MEMPOOL_FREE(arena, arena + 64);
	VALGRIND_DESTROY_MEMPOOL(arena);
	value += VALGRIND_MAKE_MEM_DEFINED(arena, 100);
	value += VALGRIND_COUNT_ERRORS;
	VALGRIND_DISCARD_TRANSLATIONS(arena, 100);
	VALGRIND_STACK_REGISTER(arena, arena + 4096);
	make(arena, value ? 64 : 32);
}

/* Sends monitor commands at fixed points. The exit status shows whether the answers were correct. */
static void commands(void)
{
	static const struct {
		const char *text;
		unsigned long answer;
	} list[] = {
		{ "snapshot commands.snapshot", 0 },
		{ "detailed_snapshot commands.detailed", 0 },
		{ "det commands.short ignored", 0 },
		{ "all_snapshots commands.all", 0 },
		{ " snapshot  commands.blanks ", 0 },
		{ "snapshot /dev/null/commands", 0 },
		{ "xtmemory commands.xt.ms", 0 },
		{ "xtmemory commands.xt.%n.ms", 0 },
		{ "xtmemory commands.xt.%n.ms", 0 },
		{ "all_snapshots", 0 },
		{ "", 0 },
		{ "nothing commands.nothing", 1 },
		{ "snapshots commands.nothing", 1 },
	};
	char *block = malloc(1000);

	make(ONE, 500);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (VALGRIND_MONITOR_COMMAND(list[i].text) != list[i].answer)
			exit(10 + (int)i);
		block = realloc(block, 1000 * (i + 2));
		make(TWO, i);
	}
	end(ONE);
	free(block);
}

/* A block that the program reports with a client request before main() runs. */
static void *early;

__attribute__((constructor)) static void before(void)
{
	early = arena + sizeof(arena) - 64;
	VALGRIND_MALLOCLIKE_BLOCK(early, 48, 0, 0);
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "blocks", blocks },	  { "twice", twice },	  { "unknown", unknown },
	{ "resizes", resizes },	  { "pool", pool },	  { "waves", waves },
	{ "places", places },	  { "allocator", allocator }, { "handlers", handlers },
	{ "threads", threads },	  { "plugin", plugin },	  { "forks", forks },
	{ "others", others },	  { "commands", commands },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0) {
			modes[i].run();
			return 0;
		}
	}
	fprintf(stderr, "diff_requests: no such mode\n");
	return 2;
}
