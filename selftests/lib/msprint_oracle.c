// SPDX-License-Identifier: GPL-2.0
// Runs our ms_print and the one from Debian's valgrind package.

#include "selftests/lib/msprint_oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 16
#define MAX_CPU_SECONDS 60
#define MAX_ADDRESS_SPACE (1024UL * 1024 * 1024)

const char *msprint_missing(void)
{
	if (access(MSPRINT_REFERENCE, X_OK))
		return MSPRINT_REFERENCE " is not there: install Debian's package valgrind";
	if (!getenv("MASSIF_BUILD"))
		return "MASSIF_BUILD, the build directory, is not set";
	return NULL;
}

const char *msprint_ours(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/ms_print", getenv("MASSIF_BUILD") ?: "build");
	return path;
}

static void limit(int resource, rlim_t value)
{
	setrlimit(resource, &(struct rlimit){ value, value });
}

static void become(const char *program, const char *const *args, int out, int err)
{
	const char *argv[MAX_ARGS + 2] = { program };
	int null = open("/dev/null", O_RDONLY);
	int i;

	for (i = 0; args[i] && i < MAX_ARGS; i++)
		argv[i + 1] = args[i];
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	/* Sanitizer builds need more address space than MAX_ADDRESS_SPACE, so their address space is not limited. */
	if (!getenv("ASAN_OPTIONS"))
		limit(RLIMIT_AS, MAX_ADDRESS_SPACE);
	limit(RLIMIT_CPU, MAX_CPU_SECONDS);
	execv(program, (char *const *)argv);
	_exit(127);
}

static char *slurp(int fd, size_t *len)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *data = calloc(1, size + 1);
	ssize_t got;

	*len = 0;
	while (data && (got = pread(fd, data + *len, size - *len, *len)) > 0)
		*len += got;
	return data;
}

struct msprint_run msprint_run(const char *program, const char *const *args)
{
	int out = memfd_create("stdout", MFD_CLOEXEC);
	int err = memfd_create("stderr", MFD_CLOEXEC);
	struct msprint_run run = { .status = -1 };
	int status;
	pid_t pid;

	/* Flush stdio before the fork: otherwise the child would print buffered output a second time. */
	fflush(NULL);
	pid = fork();
	if (!pid)
		become(program, args, out, err);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
	run.out = slurp(out, &run.out_len);
	run.err = slurp(err, &run.err_len);
	close(out);
	close(err);
	return run;
}

void msprint_run_free(struct msprint_run *run)
{
	free(run->out);
	free(run->err);
}

/* Prints the line of the first difference; returns false if there is none. */
static bool tell_difference(const struct msprint_run *ours, const struct msprint_run *reference)
{
	size_t line = 1;
	size_t start = 0;
	size_t i = 0;

	if (ours->out_len == reference->out_len &&
	    !memcmp(ours->out, reference->out, ours->out_len))
		return false;
	/* Both outputs end in a NUL, so if one is shorter, they differ at its NUL. */
	for (; ours->out[i] == reference->out[i] && i < ours->out_len; i++) {
		if (ours->out[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	printf("# line %zu, byte %zu\n#      ours: %.*s\n# reference: %.*s\n", line, i,
	       (int)strcspn(ours->out + start, "\n"), ours->out + start,
	       (int)strcspn(reference->out + start, "\n"), reference->out + start);
	return true;
}

bool msprint_same(const char *const *args, int *status)
{
	MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);
	MSPRINT_RUN_AUTO reference = msprint_run(MSPRINT_REFERENCE, args);
	bool same = true;

	if (status)
		*status = ours.status;
	if (ours.status ? ours.out_len != 0 : tell_difference(&ours, &reference))
		same = false;
	if (!ours.status != !reference.status || ours.status < 0 || ours.status >= 1000) {
		printf("# status: ours %d, reference %d\n#      ours: %s# reference: %s",
		       ours.status, reference.status, ours.err, reference.err);
		same = false;
	}
	return same;
}
