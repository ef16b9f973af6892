// SPDX-License-Identifier: GPL-2.0
// Threads that are named in different ways, run one after another, and allocate what the program prints: a line
// "thread TID BYTES CALLS NAME" for each. With an argument, it forks first, and parent and child both do this.

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum way {
	BY_PRCTL_FIRST,	    /* by itself, before its first block */
	BY_PTHREAD,	    /* by itself, afterwards */
	BY_SYSCALL,
	BY_CREATOR_FIRST,   /* by its creator, before its first block */
	BY_CREATOR,
	BY_NONE,	    /* it has the name of the program */
	IN_DESTRUCTOR,	    /* it allocates in a destructor of its data, too */
	TWICE,
	WAYS,
};

static const char *const names[WAYS] = {
	"first prctl", "pthread", "syscall", "first creator", "creator", "heap_thread_nam", "destructor", "second name",
};

static sem_t began, go;
static pthread_key_t key;
static void *kept[WAYS][4];
static int tids[WAYS];

static __attribute__((noinline)) void *take(size_t size)
{
	return malloc(size);
}

static void at_end(void *data)
{
	kept[IN_DESTRUCTOR][1] = take(70);
	free(kept[IN_DESTRUCTOR][1]);
	kept[IN_DESTRUCTOR][2] = take(7000);
}

static void *run(void *data)
{
	enum way way = (enum way)(size_t)data;

	tids[way] = (int)syscall(SYS_gettid);
	if (way == BY_PRCTL_FIRST)
		prctl(PR_SET_NAME, names[way]);
	if (way == TWICE)
		prctl(PR_SET_NAME, "first name");
	if (way == BY_CREATOR_FIRST)
		sem_wait(&go);
	kept[way][0] = take(1000 * (way + 1));
	if (way == BY_CREATOR) {
		sem_post(&began);
		sem_wait(&go);
	}
	if (way == BY_PTHREAD || way == TWICE)
		pthread_setname_np(pthread_self(), names[way]);
	if (way == BY_SYSCALL)
		syscall(SYS_prctl, PR_SET_NAME, names[way], 0, 0, 0);
	if (way == IN_DESTRUCTOR) {
		prctl(PR_SET_NAME, names[way]);
		pthread_setspecific(key, kept);
	}
	for (int i = 0; i < 10; i++)
		free(take(10));
	return NULL;
}

static void run_all(void)
{
	pthread_key_create(&key, at_end);
	sem_init(&began, 0, 0);
	sem_init(&go, 0, 0);
	for (size_t way = 0; way < WAYS; way++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)way))
			exit(1);
		if (way == BY_CREATOR)
			sem_wait(&began);
		if (way == BY_CREATOR || way == BY_CREATOR_FIRST)
			pthread_setname_np(thread, names[way]);
		sem_post(&go);
		pthread_join(thread, NULL);
		if (way != BY_CREATOR && way != BY_CREATOR_FIRST)
			sem_wait(&go);
		printf("thread %d %zu %d %s\n", tids[way], 1000 * (way + 1) + 100 + (way == IN_DESTRUCTOR ? 7070 : 0),
		       way == IN_DESTRUCTOR ? 13 : 11, names[way]);
	}
}

int main(int argc, char **argv)
{
	pid_t child = 0;

	if (argc > 1) {
		kept[0][3] = take(12345);
		child = fork();
	}
	run_all();
	fflush(stdout);
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
