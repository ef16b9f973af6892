// SPDX-License-Identifier: GPL-2.0
// Runs a command under ptrace and reads /proc/PID/maps of all its processes as they exit.
//
// Each thread stops when it exits; the last one's maps are what the process had in the end.

#include "selftests/lib/pages_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |     \
	 PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

static struct trace_maps *maps_of(struct trace_set *set, pid_t pid)
{
	struct trace_maps *maps;

	for (size_t i = 0; i < set->n_maps; i++)
		if (set->maps[i].pid == pid)
			return &set->maps[i];
	maps = realloc(set->maps, (set->n_maps + 1) * sizeof(*maps));
	if (!maps)
		abort();
	set->maps = maps;
	maps[set->n_maps] = (struct trace_maps){.pid = pid};
	return &maps[set->n_maps++];
}

static void add_range(struct trace_maps *maps, uint64_t start, uint64_t end)
{
	struct trace_range *ranges = maps->ranges;

	maps->pages += (end - start) / 4096;
	if (maps->n_ranges && ranges[maps->n_ranges - 1].end == start) {
		ranges[maps->n_ranges - 1].end = end;
		return;
	}
	ranges = realloc(ranges, (maps->n_ranges + 1) * sizeof(*ranges));
	if (!ranges)
		abort();
	maps->ranges = ranges;
	ranges[maps->n_ranges++] = (struct trace_range){start, end};
}

static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	int pid = tid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %d", &pid);
	if (file)
		fclose(file);
	return pid;
}

static void read_maps(struct trace_set *set, pid_t tid)
{
	struct trace_maps *maps = maps_of(set, process_of(tid));
	char path[64], line[8192];
	uint64_t start, end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "r");
	if (!file)
		return;
	maps->n_ranges = 0;
	maps->pages = 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
		    !strstr(line, "[vsyscall]"))
			add_range(maps, start, end);
	fclose(file);
}

/* Lets a stopped thread go on; its signals are its own. */
static void go_on(struct trace_set *set, pid_t tid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_EXIT)
		read_maps(set, tid);
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	else
		ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(event ? 0 : signal));
}

static pid_t start(char *const *argv, const char *out)
{
	int gate[2], fd;
	pid_t pid;
	char byte;

	if (pipe2(gate, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid) {
		close(gate[0]);
		if (pid > 0 && ptrace(PTRACE_SEIZE, pid, NULL, (void *)(intptr_t)OPTIONS))
			kill(pid, SIGKILL);
		close(gate[1]);
		return pid;
	}
	close(gate[1]);
	(void)!read(gate[0], &byte, 1);
	fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

int trace_run(char *const *argv, const char *out, struct trace_set *set)
{
	int status, result = -1;
	pid_t pid, main_pid;

	*set = (struct trace_set){0};
	main_pid = start(argv, out);
	if (main_pid < 0)
		return -1;
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status))
			go_on(set, pid, status);
		else if (pid == main_pid)
			result = status;
	}
	return result;
}

int trace_read_dump(const char *path, struct trace_set *set)
{
	FILE *file = fopen(path, "r");
	struct trace_maps head, *maps = NULL;
	uint64_t start_address, end;
	char line[256];

	*set = (struct trace_set){0};
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   "process %d model %" SCNu64 " kernel %" SCNu64 " lost %" SCNu64
			   " mismatches %" SCNu64,
			   &head.pid, &head.model_pages, &head.kernel_pages, &head.lost,
			   &head.mismatches) == 5) {
			maps = maps_of(set, head.pid);
			maps->model_pages = head.model_pages;
			maps->kernel_pages = head.kernel_pages;
			maps->lost = head.lost;
			maps->mismatches = head.mismatches;
		} else if (maps &&
			   sscanf(line, "%" SCNx64 "-%" SCNx64, &start_address, &end) == 2) {
			add_range(maps, start_address, end);
		}
	}
	fclose(file);
	return 0;
}

void trace_set_free(struct trace_set *set)
{
	for (size_t i = 0; i < set->n_maps; i++)
		free(set->maps[i].ranges);
	free(set->maps);
	*set = (struct trace_set){0};
}

const struct trace_maps *trace_find(const struct trace_set *set, pid_t pid)
{
	for (size_t i = 0; i < set->n_maps; i++)
		if (set->maps[i].pid == pid)
			return &set->maps[i];
	return NULL;
}

bool trace_maps_equal(const struct trace_maps *a, const struct trace_maps *b)
{
	return a->n_ranges == b->n_ranges &&
	       !memcmp(a->ranges, b->ranges, a->n_ranges * sizeof(a->ranges[0]));
}
