// SPDX-License-Identifier: GPL-2.0
// Prints a line for each signal it receives. On SIGINT, SIGTERM and SIGHUP it exits with status 5.

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };

static volatile sig_atomic_t ending;

static void handle(int number)
{
	char line[] = "got 00\n";
	ssize_t n;

	line[4] = (char)('0' + number / 10);
	line[5] = (char)('0' + number % 10);
	n = write(STDOUT_FILENO, line, sizeof(line) - 1);
	(void)n;
	if (number == SIGINT || number == SIGTERM || number == SIGHUP)
		ending = 1;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle };
	sigset_t blocked, old;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		sigaction(handled[i], &action, NULL);
		sigaddset(&blocked, handled[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &old);
	/* End the program if the test fails to do so. */
	alarm(60);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!ending)
		sigsuspend(&old);
	return 5;
}
