// SPDX-License-Identifier: GPL-2.0
// Maps and unmaps from the same places under the same and other callers, through code that comes
// and goes. Deterministic, except that with "threads" four threads do it. A word: how many rounds.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

static _Thread_local void *mapped[4];
static _Thread_local unsigned int turn;

/* The one place of all. What was mapped four calls before goes. */
static __attribute__((noinline)) int map(void)
{
	void **slot = &mapped[turn++ % 4];

	if (*slot)
		munmap(*slot, PAGE);
	*slot = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *slot != MAP_FAILED;
}

/* Frames of the same size: only the return address tells who called. */
#define CALLER(name, inner) \
static __attribute__((noinline)) int name(void) \
{ \
	return inner() + 1; \
}

CALLER(one, map)
CALLER(two, map)
CALLER(outer_one, one)
CALLER(outer_two, one)
CALLER(outer_three, two)

static int (*const callers[])(void) = {map, one, two, outer_one, outer_two, outer_three};

static __attribute__((noinline)) int deep(unsigned int depth, int (*call)(void))
{
	volatile char pad[16 + depth % 3 * 64];

	pad[0] = 1;
	return (depth ? deep(depth - 1, call) : call()) + pad[0];
}

static void on_signal(int signal)
{
	deep(2, map);
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret, as a JIT would write it. */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static void by_new_code(int (*call)(void))
{
	unsigned char *at =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	mprotect(at, PAGE, PROT_READ | PROT_EXEC);
	((void (*)(int (*)(void)))at)(call);
	munmap(at, PAGE);
}

/* Two libraries, equal but for a name, at one place by turns. */
static void by_library(const char *folder, unsigned int round)
{
	int (*call)(int (*)(void));
	void *library;
	char name[4096];

	snprintf(name, sizeof(name), "%s/libpages_code_%c.so", folder, round % 2 ? 'a' : 'b');
	library = dlopen(name, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	call = (int (*)(int (*)(void)))dlsym(library, "library_call");
	for (int i = 0; i < 3; i++)
		call(map);
	dlclose(library);
}

static unsigned int rounds;
static const char *folder;

/* What was told of the old code is void; massif-ctl has the time to tell of the new one. */
static void let_it_be_told(void)
{
	usleep(20000);
}

static void *work(void *alone)
{
	for (unsigned int i = 0; i < rounds; i++) {
		deep(i % 7, callers[i % (sizeof(callers) / sizeof(callers[0]))]);
		if (i % 16 == 0)
			raise(SIGUSR1);
		if (i % 512 == 0) {
			by_new_code(callers[i / 512 % 3]);
			let_it_be_told();
		}
		if (alone && i % 512 == 256) {
			by_library(folder, i / 512);
			let_it_be_told();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	signal(SIGUSR1, on_signal);
	rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	*strrchr(argv[0], '/') = '\0';
	folder = argv[0];
	if (argc < 3) {
		work(argv);
	} else {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	puts("done");
	return 0;
}
