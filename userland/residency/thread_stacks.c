// SPDX-License-Identifier: GPL-2.0
// Where the stacks of a process's threads are.

#include "residency/thread_stacks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the stack pointer of a thread that is not running, or 0. */
static uint64_t pointer_of(pid_t pid, pid_t tid)
{
	char path[64], line[256], *last, *before;
	uint64_t pointer = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	/* The last two words are the stack pointer and the program counter; a running thread has only the word "running". */
	if (fgets(line, sizeof(line), file)) {
		last = strrchr(line, ' ');
		if (last) {
			*last = '\0';
			before = strrchr(line, ' ');
			pointer = before ? strtoull(before + 1, NULL, 16) : 0;
		}
	}
	fclose(file);
	return pointer;
}

static void read_name(pid_t pid, struct mf_thread_stack *stack)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)stack->tid);
	file = fopen(path, "re");
	if (file && fgets(stack->name, sizeof(stack->name), file))
		stack->name[strcspn(stack->name, "\n")] = '\0';
	if (file)
		fclose(file);
}

static struct mf_thread_stack *find(struct mf_thread_stacks *stacks, pid_t tid)
{
	for (size_t i = 0; i < stacks->n; i++)
		if (stacks->stacks[i].tid == tid)
			return &stacks->stacks[i];
	return NULL;
}

static int note(struct mf_thread_stacks *stacks, pid_t pid, pid_t tid)
{
	struct mf_thread_stack *stack = find(stacks, tid);
	uint64_t pointer = pointer_of(pid, tid);

	if (stack) {
		stack->is_alive = true;
		if (pointer)
			stack->pointer = pointer;
		return 0;
	}
	if (!pointer)
		return 0;
	if (stacks->n == stacks->room) {
		size_t room = stacks->room ? 2 * stacks->room : 16;
		struct mf_thread_stack *more = reallocarray(stacks->stacks, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		stacks->stacks = more;
		stacks->room = room;
	}
	stacks->stacks[stacks->n] = (struct mf_thread_stack){ .tid = tid, .pointer = pointer, .is_alive = true };
	read_name(pid, &stacks->stacks[stacks->n++]);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct mf_thread_stack *one = a, *other = b;

	return (one->pointer > other->pointer) - (one->pointer < other->pointer);
}

/* Drops threads that have ended. */
static void sweep(struct mf_thread_stacks *stacks)
{
	size_t n = 0;

	for (size_t i = 0; i < stacks->n; i++)
		if (stacks->stacks[i].is_alive)
			stacks->stacks[n++] = stacks->stacks[i];
	stacks->n = n;
	if (n)
		qsort(stacks->stacks, n, sizeof(*stacks->stacks), compare);
}

int mf_thread_stacks_look(struct mf_thread_stacks *stacks, pid_t pid)
{
	const struct dirent *entry;
	char path[32];
	DIR *tasks;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	for (size_t i = 0; i < stacks->n; i++)
		stacks->stacks[i].is_alive = false;
	while (!ret && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			ret = note(stacks, pid, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(tasks);
	sweep(stacks);
	return ret;
}

/* Returns the index of the first stack at or above @address. */
static size_t first_from(const struct mf_thread_stacks *stacks, uint64_t address)
{
	size_t low = 0, high = stacks->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stacks->stacks[middle].pointer < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t mf_thread_stacks_between(const struct mf_thread_stacks *stacks, uint64_t start, uint64_t end)
{
	return first_from(stacks, end) - first_from(stacks, start);
}

const char *mf_thread_stacks_name(const struct mf_thread_stacks *stacks, uint64_t start, uint64_t end, char *text, size_t room)
{
	size_t first = first_from(stacks, start), n = mf_thread_stacks_between(stacks, start, end);
	char others[40] = "";

	if (n > 1)
		snprintf(others, sizeof(others), " and %zu other%s", n - 1, n == 2 ? "" : "s");
	snprintf(text, room, "thread %d (%s)%s", (int)stacks->stacks[first].tid, stacks->stacks[first].name, others);
	return text;
}

void mf_thread_stacks_deinit(struct mf_thread_stacks *stacks)
{
	free(stacks->stacks);
	*stacks = (struct mf_thread_stacks){ 0 };
}
