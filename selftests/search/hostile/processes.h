/* SPDX-License-Identifier: GPL-2.0 */
/* Building blocks of hostile programs: children, descriptors, the environment, and other properties of a process. */
#ifndef MASSIF_SELFTESTS_PROCESSES_H
#define MASSIF_SELFTESTS_PROCESSES_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "state.h"

extern char **environ;

UNUSED static int wait_for(pid_t pid)
{
	int status = -1;

	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status;
}

UNUSED static uint64_t piece_forks(unsigned int p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 12; i++) {
		unsigned int kind = (i + p) % 6;
		pid_t pid;

		if (kind == 0)
			pid = (pid_t)syscall(SYS_fork);
		else if (kind == 1)
			pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		else if (kind == 2)
			pid = _Fork();
		else
			pid = fork();
		if (pid == 0) {
			uint64_t seen = churn(p + i, 60);

			if (kind == 5) {
				pid = fork();
				if (pid == 0)
					_exit((int)(churn(i, 10) & 63));
				_exit(wait_for(pid) >> 8 & 63);
			}
			_exit((int)(seen & 63));
		}
		sum = mix(sum, (uint64_t)wait_for(pid));
		sum = mix(sum, churn(i, 20));
	}
	return sum;
}

UNUSED static uint64_t piece_vforks(unsigned int p)
{
	volatile uint64_t sum = 0;

	for (volatile unsigned int i = 0; i < 10; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			void *volatile block = malloc(100 + i);

			free(block);
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			if (i % 4 == 0)
				execl("/nonexistent", "x", (char *)NULL);
			_exit((int)i);
		}
		sum = mix(sum, (uint64_t)wait_for(pid));
	}
	return mix(sum, churn(p, 50));
}

UNUSED static int in_clone(void *data)
{
	return (int)(churn(*(unsigned int *)data, 30) & 63);
}

UNUSED static uint64_t piece_clones(unsigned int p)
{
	static const int flags[] = { SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD, CLONE_FILES | CLONE_FS | SIGCHLD,
				     CLONE_VM | SIGCHLD };
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 4; i++) {
		char *stack = (char *)malloc(65536);
		unsigned int seed = p + i;

		sum = mix(sum, (uint64_t)wait_for(clone(in_clone, stack + 65536, flags[i], &seed)));
		free(stack);
	}
	return sum;
}

UNUSED static uint64_t piece_spawns(unsigned int p)
{
	uint64_t sum = 0;
	char line[64];
	FILE *file;

	for (unsigned int i = 0; i < 6; i++) {
		char name[] = "sh", option[] = "-c", text[] = "exit 7";
		char *words[] = { name, option, text, NULL };
		posix_spawn_file_actions_t actions;
		pid_t pid = -1;
		int error;

		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_addclosefrom_np(&actions, 3);
		error = posix_spawnp(&pid, i % 3 == 2 ? "/nonexistent" : "sh", &actions, NULL, words, environ);
		posix_spawn_file_actions_destroy(&actions);
		sum = mix(sum, (uint64_t)error);
		if (!error)
			sum = mix(sum, (uint64_t)wait_for(pid));
	}
	file = popen("echo from a shell", "r");
	if (file && fgets(line, sizeof(line), file))
		sum = mix(sum, sum_of(line, strlen(line)));
	if (file)
		sum = mix(sum, (uint64_t)pclose(file));
	return mix(sum, (uint64_t)system("exit 9"));
}

/*
 * Returns a checksum of the environment variables (in order), of entries of the auxiliary vector, and of settings that
 * prctl() reads. Also prints the number of variables and the number of gaps between their strings. check-hostile
 * compares the results of a run under massif with those of a run without massif.
 */
UNUSED static uint64_t piece_environment(unsigned int p)
{
	uint64_t sum = 0;
	char *expected = NULL;
	unsigned int count = 0, gaps = 0;

	for (char **at = environ; at && *at; at++) {
		/*
		 * Skip the variables that check-hostile sets for massif-ctl, and those that massif-ctl leaves in the
		 * environment if it follows children.
		 */
		if (strncmp(*at, "MASSIF_", 7) && strncmp(*at, "LD_PRELOAD=", 11)) {
			sum = mix(sum, sum_of(*at, strlen(*at)));
			count++;
		}
		gaps += expected && *at != expected;
		expected = *at + strlen(*at) + 1;
	}
	say("environment: %u variables, %u gaps, LD_PRELOAD %s, MASSIF_SESSION %s\n", count, gaps,
	    getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none",
	    getenv("MASSIF_SESSION") ? "there" : "none");
	sum = mix(sum, getauxval(AT_SECURE));
	sum = mix(sum, getauxval(AT_HWCAP2));
	sum = mix(sum, getauxval(AT_MINSIGSTKSZ));
	sum = mix(sum, (uint64_t)prctl(PR_GET_DUMPABLE));
	sum = mix(sum, (uint64_t)prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	sum = mix(sum, (uint64_t)prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	return mix(sum, (uint64_t)prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
}

UNUSED static uint64_t piece_set_environment(unsigned int p)
{
	static char local[] = "LOCAL=1";
	static char *none[] = { NULL };
	char **saved = environ;
	uint64_t sum = 0;

	setenv("HOSTILE", "1", 1);
	putenv(local);
	setenv("LD_PRELOAD", "", 1);
	unsetenv("LD_PRELOAD");
	sum = mix(sum, (uint64_t)system("exit ${HOSTILE}"));
	if (p & 1) {
		environ = none;
		sum = mix(sum, churn(p, 30));
		sum = mix(sum, (uint64_t)system("exit 4"));
		environ = saved;
	}
	if (p & 2)
		clearenv();
	setenv("PATH", "/usr/bin:/bin", 1);
	return mix(sum, (uint64_t)system("exit 5"));
}

/* Overwrites the memory of the environment, as daemons do to change their title. */
UNUSED static uint64_t piece_title(unsigned int p)
{
	char *first = environ && environ[0] ? environ[0] : NULL, *end = first;

	for (char **at = environ; at && *at; at++) {
		if (*at != end)
			break;
		end = *at + strlen(*at) + 1;
	}
	environ = NULL;
	setenv("PATH", "/usr/bin:/bin", 1);
	if (first)
		memset(first, 'x', (size_t)(end - first) - 1);
	prctl(PR_SET_NAME, "hostile", 0, 0, 0);
	return mix(churn(p, 50), (uint64_t)system("exit 6"));
}

/* Checks which descriptors are open, and then closes all except a copy of the output. */
UNUSED static uint64_t piece_close_all(unsigned int p)
{
	uint64_t sum = 0;
	pid_t pid;

	for (int i = 0; i < 1000; i++)
		sum = mix(sum, (uint64_t)(fcntl(i, F_GETFD) >= 0));
	if (output == 1)
		output = dup2(1, 2) == 2 ? 2 : 1;
	closefrom(3);
	if (p & 1) {
		for (int i = 0; i < 10; i++) {
			if (i != output)
				close(i);
		}
		for (int i = 1024; i < 65536; i++)
			close(i);
	}
	sum = mix(sum, churn(p, 100));
	pid = fork();
	if (pid == 0)
		_exit((int)(churn(p, 10) & 63));
	return mix(sum, (uint64_t)wait_for(pid));
}

UNUSED static uint64_t piece_user(unsigned int p)
{
	uint64_t sum = 0;
	pid_t pid;

	if (geteuid() == 0) {
		sum = mix(sum, (uint64_t)setgid(65534));
		sum = mix(sum, (uint64_t)setuid(65534));
	}
	sum = mix(sum, churn(p, 100));
	pid = fork();
	if (pid == 0)
		_exit((int)(churn(p, 10) & 63));
	sum = mix(sum, (uint64_t)wait_for(pid));
	sum = mix(sum, (uint64_t)prctl(PR_GET_DUMPABLE));
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	pid = fork();
	if (pid == 0)
		_exit((int)(churn(p, 10) & 63));
	return mix(sum, (uint64_t)wait_for(pid));
}

#endif
