// SPDX-License-Identifier: GPL-2.0
// A program whose allocator waits if it is told so. Its initial thread only sleeps, so that massif-ctl attach --heap borrows
// it, and a second one does what the bytes on the standard input say: w (wait from now on), g (go on), or work.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern volatile int waits_now;

static void *obey(void *unused)
{
	char byte;

	while (read(0, &byte, 1) == 1) {
		if (byte == 'w' || byte == 'g')
			waits_now = byte == 'w';
		else
			for (int i = 0; i < 2000; i++)
				free(malloc(100));
		if (write(1, "done\n", 5) != 5)
			_exit(4);
	}
	_exit(0);
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, obey, NULL);
	dprintf(1, "ready %d\n", (int)getpid());
	pause();
	return 3; /* pause() returns only after a signal, and there is none */
}
