// SPDX-License-Identifier: GPL-2.0
// What the tests of massif-ctl top share.

#include "live_run.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl_run.h"

static void (*before_program)(void);

static void write_id_map(const char *path, unsigned int id)
{
	char text[32];
	int fd = open(path, O_WRONLY), length;
	ssize_t written;

	length = snprintf(text, sizeof(text), "%u %u 1", id, id);
	written = fd < 0 ? -1 : write(fd, text, (size_t)length);
	(void)written;
	close(fd);
}

bool live_be_alone(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	FILE *file;

	if (unshare(CLONE_NEWNET) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	write_id_map("/proc/self/uid_map", uid);
	/* This is required before a user namespace can map a group. */
	file = fopen("/proc/self/setgroups", "w");
	if (file) {
		fputs("deny", file);
		fclose(file);
	}
	write_id_map("/proc/self/gid_map", gid);
	return true;
}

static void before_ctl(void)
{
	int fd = open("c.out", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(fd, 1);
	fd = open("c.err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	dup2(fd, 2);
	if (before_program)
		before_program();
}

bool live_start(struct live_run *run, void (*before)(void), const char *const *argv)
{
	int pid = 0;

	remove("c.out");
	before_program = before;
	run->ctl = ctl_start(before_ctl, argv);
	for (int i = 0; i < 2400 && !pid; i++) {
		char *text = ctl_read_file("c.out");

		if (text && strchr(text, '\n'))
			sscanf(text, "ready %d", &pid);
		free(text);
		usleep(50000);
	}
	run->program = pid;
	snprintf(run->pid, sizeof(run->pid), "%d", pid);
	return pid > 0;
}

void live_stop(struct live_run *run)
{
	if (run->program > 0)
		kill(run->program, SIGTERM);
	if (run->ctl > 0)
		waitpid(run->ctl, NULL, 0);
	*run = (struct live_run){ 0 };
}

/* Waits until the program waits for its next signal. */
static void await_rest(const struct live_run *run)
{
	for (int quiet = 0; quiet < 3; quiet++) {
		char path[64], *text;

		snprintf(path, sizeof(path), "/proc/%d/syscall", (int)run->program);
		text = ctl_read_file(path);
		/* rt_sigtimedwait */
		if (!text || strncmp(text, "128 ", 4) != 0)
			quiet = -1;
		free(text);
		usleep(2000);
	}
}

void live_grow(const struct live_run *run)
{
	kill(run->program, SIGUSR1);
	await_rest(run);
}

void live_shrink(const struct live_run *run)
{
	kill(run->program, SIGUSR2);
	await_rest(run);
}

void live_become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(LIVE_NOBODY) || setuid(LIVE_NOBODY))
		_exit(98);
}
