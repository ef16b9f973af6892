// SPDX-License-Identifier: GPL-2.0
// Ends threads at arbitrary points of malloc() and free(): "cancel" cancels them, "exit" makes a signal handler call
// pthread_exit(). With a number as another argument, as many other threads allocate meanwhile. Prints "fine".

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHERS_MAX 100

static volatile int is_ready, is_over;

static void on_signal(int signal)
{
	pthread_exit(NULL);
}

static __attribute__((noinline)) void allocate(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

static void *work(void *data)
{
	allocate(24);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	is_ready = 1;
	for (;;)
		allocate(24);
	return data;
}

static void *work_along(void *data)
{
	while (!is_over) {
		allocate(48);
		usleep(100);
	}
	return data;
}

/* Starts a thread, ends it after @pause microseconds, and waits for its end. */
static void end_one(int cancels, unsigned int pause)
{
	pthread_t thread;

	is_ready = 0;
	if (pthread_create(&thread, NULL, work, NULL))
		exit(1);
	while (!is_ready)
		usleep(10);
	usleep(pause);
	if (cancels)
		pthread_cancel(thread);
	else
		pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int cancels = argc > 1 && !strcmp(argv[1], "cancel"), n = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t others[OTHERS_MAX];

	alarm(50);
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < n; i++)
		if (pthread_create(&others[i], NULL, work_along, NULL))
			return 1;
	for (unsigned int i = 0; i < 300; i++)
		end_one(cancels, i % 97);
	is_over = 1;
	for (int i = 0; i < n; i++)
		pthread_join(others[i], NULL);
	puts("fine");
	return 0;
}
