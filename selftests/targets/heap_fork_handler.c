// SPDX-License-Identifier: GPL-2.0
// heap_fork_handler [at_once]: a signal handler forks at arbitrary points in the program, and parent and child
// continue from there, either one after the other or concurrently.

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 60

static volatile sig_atomic_t is_child, forks, bad;
static int at_once;

/*
 * Use a single-shot timer. Otherwise the next signal would be pending when the handler returns, and would interrupt the
 * program at the same point again.
 */
static void come_again(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 500 + forks * 7 };

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_here(int signal)
{
	pid_t pid;
	int status;

	if (is_child || forks == FORKS)
		return;
	forks++;
	pid = fork();
	if (!pid)
		is_child = 1;
	else if (pid < 0 || (!at_once && (waitpid(pid, &status, 0) != pid || status)))
		bad++;
	if (pid)
		come_again();
}

/* Recurses; at each step, a bit of @way selects one of two call sites, so that nearly every stack is new. */
static __attribute__((noipa)) void *deeper(int n, unsigned int way, size_t size)
{
	void *block;

	if (!n)
		block = malloc(size);
	else if (way & 1)
		block = deeper(n - 1, way >> 1, size);
	else
		block = deeper(n - 1, way >> 1, size + 1);
	__asm__ volatile("" : : "r"(block));
	return block;
}

int main(int argc, char **argv __attribute__((unused)))
{
	struct sigaction action = { .sa_handler = fork_here, .sa_flags = SA_RESTART };
	void *blocks[64] = { NULL };
	unsigned int random = 1, left = 2000;
	int status;

	at_once = argc > 1;
	sigaction(SIGALRM, &action, NULL);
	come_again();
	while (is_child ? left-- : forks < FORKS) {
		void **block = &blocks[(random = random * 1103515245u + 12345) >> 8 & 63];

		if (random >> 30) {
			free(*block);
			*block = deeper((int)(random >> 12 & 31), random >> 5, 1 + (random >> 20));
		} else {
			*block = realloc(*block, 1 + (random >> 18));
		}
	}
	if (is_child)
		_exit(0);
	while (at_once && wait(&status) > 0)
		bad += status != 0;
	return bad;
}
