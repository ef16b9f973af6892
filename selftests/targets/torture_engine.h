/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for torture's operations: random numbers, the arena, moments (points at which the maps are saved), and
 * counts.
 */
#ifndef MASSIF_SELFTESTS_TORTURE_ENGINE_H
#define MASSIF_SELFTESTS_TORTURE_ENGINE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture_counts.h"

#define PAGE		4096UL
#define ARENA		(256 * PAGE)
#define RW		(PROT_READ | PROT_WRITE)
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)

/*
 * An operation returns 0 if it has succeeded or has failed as expected, and an errno if this kernel or process cannot
 * perform it at all. If @rare is not 0, the operation is executed only once in every @rare turns, on average.
 */
struct op {
	const char *name;
	int (*run)(void);
	bool alone;		/* the operation must not run in several threads at once */
	unsigned int rare;
};

/*
 * The arena: the memory that the operations map and unmap at random. Any thread may map over it, but no thread reads or
 * writes it. The kernel can place mappings without a fixed address in holes in the arena. So while other threads are
 * active, the contents of such mappings are undefined, too.
 */
static char *arena;
static char *maps_dir;
static struct torture_counts *counts;
/* number of times that this process has called exec, including the exec that started it; 0 in a forked child */
static int execs;
static pid_t maps_pid;		/* pid of the process for which the address space was created; 0: the current process */
static __thread uint64_t state;

static unsigned int rnd(unsigned int below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

static char *somewhere(void)
{
	return arena + rnd(200) * PAGE;
}

static size_t some(void)
{
	return (1 + rnd(50)) * PAGE;
}

/*
 * Mappings to be kept for a while: each is kept until another mapping takes its slot in this table, which has KEPT
 * slots.
 */
#define KEPT	48
static __thread struct {
	char *at;
	size_t len;
} kept[KEPT];

/*
 * Keeps the mapping in a random slot, and unmaps the mapping that was in this slot before. No other thread may unmap
 * any part of a kept mapping, because the address could belong to a different mapping when it is unmapped here.
 */
static void keep(char *at, size_t len)
{
	unsigned int i = rnd(KEPT);

	if (at == MAP_FAILED)
		return;
	if (kept[i].at)
		munmap(kept[i].at, kept[i].len);
	kept[i].at = at;
	kept[i].len = len;
}

static void count(uint64_t *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/*
 * Maps the file that holds the counts. The program maps it again after each exec, so that counting continues where it
 * left off.
 */
static void counts_open(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/" TORTURE_COUNTS, maps_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*counts)))
		exit(2);
	counts = mmap(NULL, sizeof(*counts), RW, MAP_SHARED, fd, 0);
	close(fd);
	if (counts == MAP_FAILED)
		exit(2);
}

/* Copies /proc/self/maps without malloc, stdio or anything else that changes the address space. */
static void copy_maps(const char *path)
{
	static char text[1 << 20];
	int in = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t got;

	while ((got = read(in, text, sizeof(text))) > 0)
		if (write(out, text, got) != got)
			_exit(4);
	close(in);
	close(out);
}

static void save_maps(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%d.%d", maps_dir, maps_pid ?: getpid(), execs);
	copy_maps(path);
	count(&counts->saved);
}

/*
 * Saves the maps of one moment (torture_counts.h) to a file, then maps a page at an address that encodes the moment's
 * number, which is also part of the file's name. When the test reads the record of that mapping, it compares the saved
 * maps with the mappings that it knows from the records. No other thread may change this address space at the same
 * time.
 */
static void moment(void)
{
	static unsigned int number;
	char path[512];
	char *mark = (char *)TORTURE_MARK + number * PAGE;

	if (number >= TORTURE_MARKS)
		return;
	snprintf(path, sizeof(path), "%s/%d.%d.%u", maps_dir, maps_pid ?: getpid(), execs,
		 number);
	copy_maps(path);
	number++;
	if (mmap(mark, PAGE, PROT_NONE, ANON | MAP_FIXED, -1, 0) == mark) {
		count(&counts->moments);
		munmap(mark, PAGE);
	}
}

/* Forks a child with an address space of its own. */
static pid_t fork_counted(void)
{
	pid_t pid = fork();

	if (pid > 0)
		count(&counts->spaces);
	else if (!pid)
		execs = 0;
	return pid;
}

static void reap(pid_t pid, int code)
{
	int status;

	if (waitpid(pid, &status, __WALL) < 0 || status)
		exit(code);
}

#endif
