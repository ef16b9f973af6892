// SPDX-License-Identifier: GPL-2.0
// ctl_daemon WAY FILE [N]: exits with status 5 and leaves other processes running. The last of these processes writes
// its pid to FILE and allocates 100 blocks of 1000 bytes. On each SIGUSR1 it allocates 100 blocks of 2000 bytes in a
// different function. On SIGUSR2 it forks a child that does the same. On SIGTERM it exits with status 6.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCKS = 100,
	STATUS = 5,
	STATUS_OF_DAEMON = 6,
};

extern char **environ;

static char *volatile kept[2 * BLOCKS];

static void take_early(void)
{
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = malloc(1000);
}

__attribute__((noinline)) static char *take_late(void)
{
	char *volatile block = malloc(2000);

	return block;
}

static void write_number(const char *file)
{
	char text[32], beside[4096];
	int fd, n;

	snprintf(beside, sizeof(beside), "%s.%d", file, (int)getpid());
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (fd < 0 || write(fd, text, (size_t)n) != n || rename(beside, file))
		_exit(90);
	close(fd);
}

/* Runs until SIGTERM. */
static int live(const char *file)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	take_early();
	write_number(file);
	while (!sigwait(&set, &number) && number != SIGTERM) {
		if (number == SIGUSR2 && fork())
			continue;
		for (int i = 0; i < BLOCKS; i++)
			kept[BLOCKS + i] = take_late();
		write_number(file);
	}
	return STATUS_OF_DAEMON;
}

/* Detaches as system daemons do: leaves the session and the working directory, and closes all descriptors. */
static void let_go(void)
{
	setsid();
	signal(SIGHUP, SIG_IGN);
	if (fork())
		_exit(0);
	if (chdir("/"))
		_exit(91);
	for (int fd = 0; fd < 2000; fd++)
		close(fd);
	if (open("/dev/null", O_RDWR) || dup(0) != 1 || dup(0) != 2)
		_exit(92);
}

static int daemonise(char **argv)
{
	pid_t child = fork();

	if (!child) {
		let_go();
		exit(live(argv[2]));
	}
	/* Until the child has left the session, it would die of the SIGHUP of a terminal that closes. */
	waitpid(child, NULL, 0);
	return STATUS;
}

/* Leaves a running child that does not close its descriptors. */
static int leave(char **argv)
{
	if (!fork())
		exit(live(argv[2]));
	return STATUS;
}

static int leave_several(char **argv)
{
	for (int i = 0; i < atoi(argv[3]); i++)
		leave(argv);
	return STATUS;
}

static int execute(char **argv)
{
	char *again[] = { argv[0], "live", argv[2], NULL };

	if (!fork()) {
		let_go();
		execv("/proc/self/exe", again);
		_exit(93);
	}
	return STATUS;
}

/* Exits so early that the spawned program cannot have started yet. */
static int spawn(char **argv)
{
	char *again[] = { argv[0], "live", argv[2], NULL };
	pid_t pid;

	return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, again, environ) ? 94 : STATUS;
}

static int die(char **argv)
{
	leave(argv);
	kill(getpid(), SIGKILL);
	return 95;
}

static int only_live(char **argv)
{
	return live(argv[2]);
}

static const struct {
	const char *name;
	int (*go)(char **argv);
} ways[] = {
	{ "daemon", daemonise },
	{ "leave", leave },
	{ "several", leave_several },
	{ "execute", execute },
	{ "spawn", spawn },
	{ "die", die },
	{ "live", only_live },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			return ways[i].go(argv);
	return 96;
}
