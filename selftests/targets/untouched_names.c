// SPDX-License-Identifier: GPL-2.0
// Defines functions with the names of C library functions, as sanitizers and libraries that fake the time do. Counts
// calls to them, because only this program may call them.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned int calls;
static const char *last = "nothing";

/* Each function also allocates, so that a call from within the shim would re-enter the shim. */
#define CALLED (last = __func__, calls++, free(malloc(100)))

int pthread_setspecific(pthread_key_t key, const void *value)
{
	CALLED;
	return 0;
}

void *dlsym(void *handle, const char *name)
{
	CALLED;
	return NULL;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	CALLED;
	return (int)syscall(SYS_clock_gettime, clock, time);
}

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
	CALLED;
	return 0;
}

int dladdr(const void *address, Dl_info *info)
{
	CALLED;
	return 0;
}

pthread_t pthread_self(void)
{
	CALLED;
	return 0;
}

unsigned long getauxval(unsigned long type)
{
	CALLED;
	return 0;
}

char *getenv(const char *name)
{
	CALLED;
	return NULL;
}

int strcmp(const char *a, const char *b)
{
	CALLED;
	return 1;
}

size_t strlen(const char *text)
{
	CALLED;
	return 0;
}

void *memcpy(void *to, const void *from, size_t size)
{
	CALLED;
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	CALLED;
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	CALLED;
	return 1;
}

static __attribute__((noinline)) void walk(uint32_t way, int depth)
{
	volatile int frame = depth;

	if (!depth)
		free(malloc(way % 5000));
	else if (way & 1)
		walk(way >> 1, depth - 1);
	else
		walk(way >> 2, depth - 1);
	frame++;
}

static void *run(void *data)
{
	for (uint32_t i = 0; i < 20000; i++)
		walk(i * 2654435761u, (int)(i % 12));
	free(realloc(malloc(10), 100000));
	free(calloc(100, 100));
	free(aligned_alloc(64, 640));
	return NULL;
}

int main(void)
{
	pthread_t thread;

	run(NULL);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	printf("%u calls, last %s\n", calls, last);
	return 0;
}
