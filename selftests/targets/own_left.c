// SPDX-License-Identifier: GPL-2.0
// A program whose malloc exits by longjmp when memory is exhausted, even when called from realloc. Later events are
// counted as usual, as are those of a child that is forked afterwards.

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf no_more;

/*
 * The statement that the allocator's malloc() executes when its arena is full. It gives back the memory that malloc()
 * has already reserved, and leaves malloc() with longjmp().
 */
#define OWN_NO_MORE                   \
	do {                          \
		own_used = at;        \
		longjmp(no_more, 1);  \
	} while (0)
#include "own_allocator.h"

#define TOO_MUCH (1ul << 30)

static void *volatile kept;

static __attribute__((noipa)) void ask_too_much(int deeper)
{
	volatile char room[256];

	room[0] = 0;
	if (deeper)
		ask_too_much(deeper - 1);
	else
		kept = malloc(TOO_MUCH);
	room[1] = room[0];
}

static __attribute__((noipa)) void *after(size_t size)
{
	return malloc(size);
}

int main(void)
{
	int status = 0;
	pid_t pid;

	kept = malloc(100);
	if (!setjmp(no_more))
		ask_too_much(0);
	for (int i = 0; i < 100; i++)
		kept = after(1000);
	if (!setjmp(no_more))
		kept = realloc(kept, TOO_MUCH);
	/* Free a block just before the fork, so that the last event before it is a free. */
	free(after(10));
	pid = fork();
	if (!pid) {
		kept = after(2000);
		_exit(3);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
		return 2;
	for (int i = 0; i < 100; i++)
		kept = after(1000);
	free(kept);
	return 0;
}
