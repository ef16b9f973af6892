// SPDX-License-Identifier: GPL-2.0
// Holds a million bytes, and does more whenever it is told: SIGUSR1 grows and allocates for a short time, SIGUSR2 frees
// what has grown, SIGTERM ends it, after a last small block. Its words after the name are ignored.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	HELD = 1000,
	STEP = 100,
	GROWN_MOST = 10000,
	BYTES = 1000,
	CHURNED = 5000,
};

static void *volatile held[HELD], *volatile grown[GROWN_MOST], *volatile used;
static int n_grown;

__attribute__((noinline)) static void hold(void)
{
	for (int i = 0; i < HELD; i++)
		held[i] = malloc(BYTES);
}

__attribute__((noinline)) static void grow(void)
{
	for (int i = 0; i < STEP && n_grown < GROWN_MOST; i++)
		grown[n_grown++] = malloc(BYTES);
}

__attribute__((noinline)) static void churn(void)
{
	for (int i = 0; i < CHURNED; i++) {
		used = malloc(64);
		free(used);
	}
}

__attribute__((noinline)) static void leave(void)
{
	used = malloc(100);
}

static void release(void)
{
	while (n_grown)
		free(grown[--n_grown]);
}

int main(void)
{
	char line[32];
	sigset_t set;
	int number = 0, length;
	ssize_t written;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	hold();
	length = snprintf(line, sizeof(line), "ready %d\n", (int)getpid());
	written = write(1, line, (size_t)length);
	while (written > 0 && number != SIGTERM && !sigwait(&set, &number)) {
		if (number == SIGUSR1)
			grow();
		if (number == SIGUSR2)
			release();
		else
			churn();
	}
	leave();
	return 0;
}
