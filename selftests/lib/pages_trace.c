// SPDX-License-Identifier: GPL-2.0
// Runs a command under ptrace and reads /proc/PID/maps of all its processes, at certain points in the run and at exit.
// Each thread stops when it exits; the maps at the last thread's exit are the final ones.

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
	 PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define FIRST_MOMENT 16
#define DUMP_PATIENCE_US (30 * 1000 * 1000)
#define STOP_PATIENCE_US (500 * 1000)

/* A traced thread. */
struct tracee {
	struct tracee *next;
	pid_t tid, pid;
	/*
	 * true if the thread's process or one of its ancestors has executed a program; from then on, the thread's
	 * system calls are counted
	 */
	bool watched;
	bool stopped;
	/* the thread is in vfork(): it cannot be stopped until its child executes a program or exits */
	bool vforking;
	/* the thread has stopped or ended, but its wait status, in @status, has not been handled yet */
	bool has_status;
	int status;
};

struct process {
	struct process *next;
	pid_t pid;
	uint64_t calls;
};

struct trace {
	struct trace_set *set;
	const char *dump;
	pid_t main_pid;
	struct tracee *tracees;
	struct process *processes;
};

static void *zalloc(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		abort();
	return memory;
}

static struct trace_maps *maps_of(struct trace_set *set, pid_t pid, unsigned int moment)
{
	struct trace_maps *maps;

	for (size_t i = 0; i < set->n_maps; i++)
		if (set->maps[i].pid == pid && set->maps[i].moment == moment)
			return &set->maps[i];
	maps = realloc(set->maps, (set->n_maps + 1) * sizeof(*maps));
	if (!maps)
		abort();
	set->maps = maps;
	maps[set->n_maps] = (struct trace_maps){.pid = pid, .moment = moment};
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

static FILE *open_proc(pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	return fopen(path, "re");
}

static pid_t process_of(pid_t tid)
{
	FILE *file = open_proc(tid, "status");
	char line[256];
	int pid = tid;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %d", &pid);
	if (file)
		fclose(file);
	return pid;
}

static void read_maps(struct trace *trace, const struct tracee *tracee, unsigned int moment)
{
	struct trace_maps *maps = maps_of(trace->set, tracee->pid, moment);
	FILE *file = open_proc(tracee->tid, "statm");
	uint64_t start, end;
	char line[8192];

	if (file && fgets(line, sizeof(line), file))
		maps->size = strtoull(line, NULL, 10);
	if (file)
		fclose(file);
	file = open_proc(tracee->tid, "maps");
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

static struct tracee *tracee_of(struct trace *trace, pid_t tid)
{
	struct tracee *tracee = trace->tracees;

	while (tracee && tracee->tid != tid)
		tracee = tracee->next;
	if (tracee)
		return tracee;
	tracee = zalloc(sizeof(*tracee));
	tracee->tid = tid;
	tracee->pid = process_of(tid);
	/* A new thread's system calls are counted if those of the other threads in its process are being counted. */
	for (struct tracee *other = trace->tracees; other; other = other->next)
		if (other->pid == tracee->pid)
			tracee->watched = other->watched;
	tracee->next = trace->tracees;
	trace->tracees = tracee;
	return tracee;
}

static void forget(struct trace *trace, struct tracee *gone)
{
	struct tracee **link = &trace->tracees;

	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	free(gone);
}

static struct process *process(struct trace *trace, pid_t pid)
{
	struct process *process = trace->processes;

	while (process && process->pid != pid)
		process = process->next;
	if (process)
		return process;
	process = zalloc(sizeof(*process));
	process->pid = pid;
	process->next = trace->processes;
	trace->processes = process;
	return process;
}

/* Continues a stopped thread and delivers its signal. */
static void go_on(struct tracee *tracee, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	tracee->stopped = false;
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, tracee->tid, NULL, NULL);
	else
		ptrace(tracee->watched ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, NULL,
		       (void *)(intptr_t)(event || signal == SYSCALL_STOP ? 0 : signal));
}

/*
 * Stops a thread, which may also have stopped or ended by itself. Returns false if it does not stop in time, for
 * example because it is waiting in the kernel for a thread that was stopped.
 */
static bool stop(struct tracee *tracee)
{
	unsigned int waited;

	ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
	for (waited = 0; waited < STOP_PATIENCE_US; waited += 1000) {
		pid_t got = waitpid(tracee->tid, &tracee->status, __WALL | WNOHANG);

		if (got == tracee->tid) {
			tracee->has_status = true;
			tracee->stopped = WIFSTOPPED(tracee->status);
			return true;
		}
		if (got < 0)
			return true;
		usleep(1000);
	}
	return false;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	if (file)
		fclose(file);
	return parent;
}

/*
 * Returns whether a thread belongs to massif-ctl or to the helper process that reads symbol names for it, a forked
 * child that never calls exec.
 */
static bool is_massif_ctls(const struct trace *trace, const struct tracee *tracee)
{
	return tracee->pid == trace->main_pid ||
	       (!tracee->watched && parent_of(tracee->pid) == trace->main_pid);
}

/*
 * Saves a thread's event for next_event(). Threads of massif-ctl are resumed at once: the thread that reads the ring
 * may be waiting for another thread, which in turn is waiting for the helper process.
 */
static void take_note(struct trace *trace, struct tracee *tracee, int status)
{
	bool executes = status >> 16 == PTRACE_EVENT_EXEC;

	if (WIFSTOPPED(status)) {
		if (!executes && is_massif_ctls(trace, tracee)) {
			go_on(tracee, status);
			return;
		}
		tracee->stopped = true;
	} else if (tracee->tid != trace->main_pid && !tracee->watched) {
		forget(trace, tracee);
		return;
	}
	tracee->status = status;
	tracee->has_status = true;
}

/* Makes massif-ctl, which is itself traced, write a dump, and waits for it. */
static void ask_for_dump(struct trace *trace, unsigned int moment)
{
	struct tracee *main = tracee_of(trace, trace->main_pid);
	char asking[4096], new[4096 + 8];
	unsigned int waited = 0;
	FILE *file;

	snprintf(asking, sizeof(asking), "%s.now", trace->dump);
	snprintf(new, sizeof(new), "%s.new", asking);
	file = fopen(new, "we");
	if (!file)
		abort();
	fprintf(file, "%u\n", moment);
	fclose(file);
	rename(new, asking);
	while (!access(asking, F_OK) && waited < DUMP_PATIENCE_US && !main->has_status) {
		int status;
		pid_t tid;

		while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
			take_note(trace, tracee_of(trace, tid), status);
		usleep(2000);
		waited += 2000;
	}
	unlink(asking);
}

/*
 * Stops all threads of @self's process, reads the process's maps from /proc, and has massif-ctl dump the mappings known
 * to it. Returns false if a thread cannot be stopped now.
 */
static bool moment(struct trace *trace, struct tracee *self)
{
	unsigned int number;

	for (struct tracee *other = trace->tracees; other; other = other->next)
		if (other->pid == self->pid && !other->stopped && !other->has_status &&
		    !stop(other))
			return false;
	number = ++trace->set->n_moments;
	read_maps(trace, self, number);
	ask_for_dump(trace, number);
	return true;
}

static bool is_vforking(const struct trace *trace, pid_t pid)
{
	for (const struct tracee *tracee = trace->tracees; tracee; tracee = tracee->next)
		if (tracee->pid == pid && tracee->vforking)
			return true;
	return false;
}

static void count_call(struct trace *trace, struct tracee *tracee)
{
	struct __ptrace_syscall_info info = {0};
	struct process *caller = process(trace, tracee->pid);

	ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, (void *)sizeof(info), &info);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (++caller->calls < FIRST_MOMENT || caller->calls & (caller->calls - 1))
		return;
	/* If the process cannot be stopped at this system call, try again at its next one. */
	if (is_vforking(trace, tracee->pid) || !moment(trace, tracee))
		caller->calls--;
}

/* After an exec, the process has a new image and a single thread. */
static void executed(struct trace *trace, struct tracee *tracee)
{
	struct tracee *other, *next;

	for (other = trace->tracees; other; other = next) {
		next = other->next;
		if (other->pid == tracee->pid && other != tracee)
			forget(trace, other);
	}
	tracee->vforking = false;
	if (tracee->pid != trace->main_pid && trace->dump) {
		tracee->watched = true;
		process(trace, tracee->pid)->calls = 0;
	}
}

static void handle_stop(struct trace *trace, struct tracee *tracee, int status)
{
	unsigned long child = 0;

	tracee->stopped = true;
	switch (status >> 16) {
	case PTRACE_EVENT_EXIT:
		read_maps(trace, tracee, 0);
		break;
	case PTRACE_EVENT_EXEC:
		executed(trace, tracee);
		break;
	case PTRACE_EVENT_FORK:
		/*
		 * A forked child has a copy of its parent's mappings, so it is watched like the parent. A vfork() child
		 * shares them.
		 */
		ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &child);
		tracee_of(trace, (pid_t)child)->watched = tracee->watched;
		break;
	case PTRACE_EVENT_VFORK:
		tracee->vforking = true;
		break;
	case PTRACE_EVENT_VFORK_DONE:
		tracee->vforking = false;
		break;
	case 0:
		if (WSTOPSIG(status) == SYSCALL_STOP)
			count_call(trace, tracee);
	}
	go_on(tracee, status);
}

/* Returns the next thread that has an event, or NULL if none is left. */
static struct tracee *next_event(struct trace *trace, int *status)
{
	struct tracee *tracee;
	pid_t tid;

	for (tracee = trace->tracees; tracee; tracee = tracee->next) {
		if (!tracee->has_status)
			continue;
		tracee->has_status = false;
		*status = tracee->status;
		return tracee;
	}
	do
		tid = waitpid(-1, status, __WALL);
	while (tid < 0 && errno == EINTR);
	return tid > 0 ? tracee_of(trace, tid) : NULL;
}

static pid_t start(char *const *argv, const char *in, const char *out)
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
	fd = in ? open(in, O_RDONLY) : STDIN_FILENO;
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

int trace_run(char *const *argv, const char *in, const char *out, const char *dump,
	      struct trace_set *set)
{
	struct trace trace = {.set = set, .dump = dump};
	struct tracee *tracee;
	int status, result = -1;

	*set = (struct trace_set){0};
	trace.main_pid = start(argv, in, out);
	if (trace.main_pid < 0)
		return -1;
	while ((tracee = next_event(&trace, &status))) {
		if (WIFSTOPPED(status)) {
			handle_stop(&trace, tracee, status);
			continue;
		}
		if (tracee->tid == trace.main_pid)
			result = status;
		forget(&trace, tracee);
	}
	while (trace.tracees)
		forget(&trace, trace.tracees);
	while (trace.processes) {
		struct process *next = trace.processes->next;

		free(trace.processes);
		trace.processes = next;
	}
	return result;
}

int trace_read_dump(const char *path, struct trace_set *set)
{
	FILE *file = fopen(path, "r");
	struct trace_maps head, *maps = NULL;
	uint64_t start_address, end;
	unsigned int moment;
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
			const char *at = strstr(line, " at ");

			moment = at ? (unsigned int)strtoul(at + 4, NULL, 10) : 0;
			maps = maps_of(set, head.pid, moment);
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

const struct trace_maps *trace_find(const struct trace_set *set, pid_t pid, unsigned int moment)
{
	for (size_t i = 0; i < set->n_maps; i++)
		if (set->maps[i].pid == pid && set->maps[i].moment == moment)
			return &set->maps[i];
	return NULL;
}

bool trace_maps_equal(const struct trace_maps *a, const struct trace_maps *b)
{
	return a->n_ranges == b->n_ranges &&
	       !memcmp(a->ranges, b->ranges, a->n_ranges * sizeof(a->ranges[0]));
}
