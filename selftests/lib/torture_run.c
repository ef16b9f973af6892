// SPDX-License-Identifier: GPL-2.0
// Runs the torture program in a session and compares all records with the maps that the program saves.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/lib/torture_run.h"

#define PAGE	4096UL
#define RING	MASSIF_RING_MAX
#define STACK	1024

__attribute__((format(printf, 2, 3)))
static void wrong(struct torture_run *run, const char *format, ...)
{
	va_list args;

	if (run->wrong[0])
		return;
	va_start(args, format);
	vsnprintf(run->wrong, sizeof(run->wrong), format, args);
	va_end(args);
}

int torture_run_open(struct torture_run *run)
{
	memset(run, 0, sizeof(*run));
	snprintf(run->maps, sizeof(run->maps), "%.3000s/maps.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(run->maps) || setenv("TORTURE_MAPS", run->maps, 1) ||
	    setenv("TORTURE_EXECS", "1", 1))
		return -errno;
	kmod_model_init(&run->model);
	return kmod_session_open(&run->session, RING, STACK);
}

void torture_run_close(struct torture_run *run)
{
	kmod_session_close(&run->session);
	kmod_model_destroy(&run->model);
}

static bool equal(struct torture_run *run, const struct kmod_target *target, const char *name,
		  uint64_t total)
{
	struct kmod_intervals saved;
	char path[PATH_MAX];
	bool same;

	snprintf(path, sizeof(path), "%.3000s/%.200s", run->maps, name);
	if (kmod_intervals_read(&saved, path)) {
		wrong(run, "%s cannot be read", path);
		return false;
	}
	same = target && target->synced && kmod_intervals_equal(&saved, &target->map) &&
	       kmod_intervals_pages(&saved) == total;
	if (!same)
		wrong(run, "%s: %zu intervals, %llu pages; replay: %zu, %llu; total_vm %llu", name,
		      saved.count, (unsigned long long)kmod_intervals_pages(&saved),
		      target ? target->map.count : 0,
		      target ? (unsigned long long)kmod_intervals_pages(&target->map) : 0,
		      (unsigned long long)total);
	kmod_intervals_destroy(&saved);
	return same;
}

/*
 * Compares the model's mappings with the maps that the program has saved to a file. Just after it has saved its maps,
 * the program maps a page as a marker. This function is called for the MAP record of each marker.
 */
static void at_moment(struct torture_run *run, const struct massif_rec_map *map)
{
	struct kmod_target *target = kmod_model_target(&run->model, map->h.target);
	char name[64];

	if (!target)
		return;
	snprintf(name, sizeof(name), "%u.%u.%lu", target->tgid, target->execs,
		 (unsigned long)(map->addr - TORTURE_MARK) / PAGE);
	run->moments += equal(run, target, name, map->h.total_vm - map->len / PAGE);
}

static int each(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_map *map = (const void *)rec;
	struct torture_run *run = arg;

	if (rec->type == MASSIF_REC_MAP && map->addr >= TORTURE_MARK &&
	    map->addr < TORTURE_MARK + TORTURE_MARKS * PAGE)
		at_moment(run, map);
	return kmod_model_apply(rec, &run->model);
}

static void read_counts(struct torture_run *run)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%.3000s/" TORTURE_COUNTS, run->maps);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, &run->counts, sizeof(run->counts)) != sizeof(run->counts))
		wrong(run, "the program did not count");
	close(fd);
}

int torture_run(struct torture_run *run, char *const argv[], int timeout_ms)
{
	pid_t pid = kmod_session_spawn(&run->session, argv);
	int err, status;

	if (pid < 0)
		return pid;
	err = kmod_session_drain(&run->session, timeout_ms, each, run);
	if (err)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	read_counts(run);
	return err ?: status;
}

static void compare_ends(struct torture_run *run)
{
	struct dirent *entry;
	DIR *dir = opendir(run->maps);

	while (dir && (entry = readdir(dir))) {
		unsigned int tgid, execs, number;
		struct kmod_target *target;

		if (sscanf(entry->d_name, "%u.%u.%u", &tgid, &execs, &number) != 2)
			continue;
		target = kmod_model_find(&run->model, tgid, execs);
		if (target && !target->exited)
			wrong(run, "%s: its end was not told", entry->d_name);
		run->saved += equal(run, target, entry->d_name, target ? target->exit_total : 0);
	}
	closedir(dir);
}

static void expect(struct torture_run *run, const char *what, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		wrong(run, "%s: %llu, not %llu", what, (unsigned long long)got,
		      (unsigned long long)wanted);
}

bool torture_run_exact(struct torture_run *run)
{
	const struct kmod_model *model = &run->model;
	struct massif_status status;
	size_t i;

	if (model->wrong)
		wrong(run, "%s", model->first_wrong);
	compare_ends(run);
	expect(run, "records lost", model->lost, 0);
	expect(run, "gaps in seq", model->gaps, 0);
	expect(run, "totals in motion", model->unsure, 0);
	expect(run, "moments", run->moments, run->counts.moments);
	expect(run, "ends", run->saved, run->counts.saved);
	/*
	 * Two of the address spaces belong to the launcher's child before its exec and to the first torture program.
	 * All the others were created, and counted, by the torture processes.
	 */
	expect(run, "address spaces", model->records[MASSIF_REC_EXIT], 2 + run->counts.spaces);
	if (kmod_session_status(&run->session, &status)) {
		wrong(run, "no status");
		return false;
	}
	expect(run, "lost by status", status.lost, 0);
	expect(run, "missed", status.missed, 0);
	expect(run, "unseen", status.unseen, 0);
	expect(run, "targets left", status.targets, 0);
	expect(run, "processes left", status.processes, 0);
	expect(run, "records", status.records, model->last_seq);
	for (i = 0; i < model->count; i++)
		run->totals += model->targets[i].compared;
	return !run->wrong[0];
}

const typeof(((struct torture_counts *)0)->ops[0]) *torture_run_op(const struct torture_run *run,
								   const char *name)
{
	size_t i;

	for (i = 0; i < TORTURE_OPS; i++)
		if (!strcmp(run->counts.ops[i].name, name))
			return &run->counts.ops[i];
	return NULL;
}

char *torture_run_program(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/selftests/targets/%s", getenv("MASSIF_BUILD") ?: "build",
		 name);
	return path;
}
