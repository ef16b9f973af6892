// SPDX-License-Identifier: GPL-2.0
// Starts the program as a child, in the same environment that massif-ctl was started in.

#include "launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SHELL "/bin/sh"

enum stage {
	STAGE_ENROL,
	STAGE_EXEC,
};

/* Sent to the parent by a child that could not execute the program. */
struct failure {
	enum stage stage;
	int code;
};

void mf_launch_reserve_standard(void)
{
	int fd;

	/*
	 * open() returns the lowest free descriptor, so this loop fills 0, 1 and 2. The program does not inherit
	 * /dev/null, because of O_CLOEXEC.
	 */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void mf_launch_lift_limit(struct mf_launch *launch)
{
	static const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit most;

	if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur == RLIM_INFINITY)
		return;
	launch->address_space = most;
	most.rlim_cur = most.rlim_max;
	/*
	 * Raise massif-ctl's hard limit on address space only if massif-ctl runs as root. The session is sized for
	 * massif-ctl's new limit, and the program has to map the session, too. Without privileges, the shim could not
	 * raise the program's limit that far.
	 */
	if (geteuid() || setrlimit(RLIMIT_AS, &none))
		setrlimit(RLIMIT_AS, &most);
}

/* Runs a file of unknown format with the shell, as execvp() does. */
static void exec_by_shell(const struct mf_launch *launch, char **arguments)
{
	size_t n = 0;

	arguments[n++] = (char *)SHELL;
	arguments[n++] = launch->program->path;
	for (char *const *arg = launch->argv + 1; *arg; arg++)
		arguments[n++] = *arg;
	arguments[n] = NULL;
	execve(SHELL, arguments, launch->environment);
}

static void run_child(const struct mf_launch *launch, int report, char **arguments)
	__attribute__((noreturn));

static void run_child(const struct mf_launch *launch, int report, char **arguments)
{
	struct failure failure = { .stage = STAGE_ENROL };
	ssize_t written;

	failure.code = launch->enrol ? launch->enrol(launch->enrol_data) : 0;
	if (!failure.code) {
		for (int i = 0; i < MF_LAUNCH_INHERITED_MAX; i++) {
			if (launch->inherited[i] >= 0)
				fcntl(launch->inherited[i], F_SETFD, 0);
		}
		mf_signals_restore(launch->signals);
		if (launch->address_space.rlim_max)
			setrlimit(RLIMIT_AS, &launch->address_space);
		execve(launch->program->path, launch->argv, launch->environment);
		failure.stage = STAGE_EXEC;
		failure.code = -errno;
		if (errno == ENOEXEC && launch->program->by_shell)
			exec_by_shell(launch, arguments);
	}
	written = write(report, &failure, sizeof(failure));
	(void)written;
	_exit(127);
}

static int explain(const struct mf_launch *launch, const struct failure *failure,
		   struct mf_error *err)
{
	if (failure->stage == STAGE_ENROL)
		return launch->enrol_error(failure->code, err);
	return mf_error_set(err, failure->code, "%.600s: cannot be executed: %s",
			    launch->argv[0], strerror(-failure->code));
}

int mf_launch_start(const struct mf_launch *launch, pid_t *pid, bool *refused,
		    struct mf_error *err)
{
	mf_auto_close int reader = -1, writer = -1;
	mf_auto_free char **arguments = NULL;
	struct failure failure;
	size_t n = 0;
	int ends[2];

	*refused = false;
	/*
	 * Allocate the arguments of a shell, which may have to run the program (exec_by_shell()): two more than those
	 * of the program. Do it here, because the child must not allocate memory.
	 */
	while (launch->argv[n])
		n++;
	arguments = calloc(n + 2, sizeof(*arguments));
	if (!arguments)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return mf_error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	reader = ends[0];
	writer = ends[1];

	*pid = fork();
	if (*pid < 0)
		return mf_error_set(err, -errno, "cannot start a process: %s", strerror(errno));
	if (*pid == 0)
		run_child(launch, writer, arguments);

	/* A successful exec closes the child's end of the pipe. */
	close(mf_take(writer, -1));
	if (read(reader, &failure, sizeof(failure)) != (ssize_t)sizeof(failure))
		return 0;
	waitpid(*pid, NULL, 0);
	*refused = failure.stage == STAGE_EXEC;
	return explain(launch, &failure, err);
}

void mf_launch_drop_inherited(void)
{
	DIR *descriptors = opendir("/proc/self/fd");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct dirent *entry;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	if (!descriptors)
		return;
	while ((entry = readdir(descriptors))) {
		int fd = atoi(entry->d_name);

		/* massif-ctl's own descriptors are all close-on-exec; inherited descriptors are not. */
		if (fd > STDERR_FILENO && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			close(fd);
	}
	closedir(descriptors);
}
