// SPDX-License-Identifier: GPL-2.0
// untouched_linker callback|child|operator: allocates while another thread holds the dynamic linker's lock. Either that
// thread waits for the allocating thread, or the allocation is made in a forked child, in which that thread does not
// exist.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program if it hangs. */
#define SECONDS 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int has_lock;

static int wait_for_mutex(struct dl_phdr_info *object, size_t size, void *data)
{
	__atomic_store_n(&has_lock, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 1;
}

static void *take_lock(void *data)
{
	dl_iterate_phdr(wait_for_mutex, NULL);
	return NULL;
}

/* Allocates in generated code, which belongs to no object. */
static void *allocate(size_t size)
{
	/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *(*made)(size_t, void *(*)(size_t)) = (void *(*)(size_t, void *(*)(size_t)))page;

	if (page == MAP_FAILED)
		exit(3);
	memcpy(page, code, sizeof(code));
	return made(size, malloc);
}

static int allocate_in_child(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		alarm(SECONDS);
		free(allocate(200));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* Loads the C++ library at run time and returns its aligned operator new. */
static void *find_operator(void)
{
	return dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) ? dlsym(RTLD_DEFAULT, "_ZnwmSt11align_val_t") : NULL;
}

int main(int argc, char **argv)
{
	void *(*operator_new)(size_t, size_t) = (void *(*)(size_t, size_t))find_operator();
	int status = 0;
	pthread_t thread;

	if (argc != 2 || !operator_new)
		return 2;
	alarm(SECONDS + 10);
	free(malloc(100));
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, take_lock, NULL);
	while (!__atomic_load_n(&has_lock, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!strcmp(argv[1], "callback"))
		free(allocate(200));
	else if (!strcmp(argv[1], "child"))
		status = allocate_in_child();
	else
		free(operator_new(200, 64));
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	printf("%s %x\n", argv[1], (unsigned int)status);
	return status != 0;
}
