// SPDX-License-Identifier: GPL-2.0
// Replaying the ring gives /proc/PID/maps and total_vm, exactly, whatever a program does.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"

FIXTURE(accounting)
{
	struct kmod_session session;
	struct kmod_model model;
	char maps[PATH_MAX];
	char torture[PATH_MAX];
};

FIXTURE_SETUP(accounting)
{
	const char *tmp = getenv("TMPDIR") ?: "/tmp";

	snprintf(self->torture, sizeof(self->torture), "%s/selftests/targets/torture",
		 getenv("MASSIF_BUILD") ?: "build");
	snprintf(self->maps, sizeof(self->maps), "%s/maps.XXXXXX", tmp);
	ASSERT_NE(NULL, mkdtemp(self->maps));
	ASSERT_EQ(0, setenv("TORTURE_MAPS", self->maps, 1));
	ASSERT_EQ(0, setenv("TORTURE_EXECS", "1", 1));
	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_open(&self->session, 16 << 20, 4096));
}

FIXTURE_TEARDOWN(accounting)
{
	kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
}

static int run_to_end(struct kmod_session *session, struct kmod_model *model, char *const argv[])
{
	pid_t pid = kmod_session_spawn(session, argv);
	int err, status;

	if (pid < 0)
		return pid;
	err = kmod_session_drain(session, 240 * 1000, kmod_model_apply, model);
	if (err)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	if (!err && status)
		fprintf(stderr, "# status of %s: %#x\n", argv[0], status);
	return err ?: status;
}

/* How many saved maps there are that the model agrees with; -1 if one differs. */
static int compare_maps(struct kmod_model *model, const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int equal = 0;

	while ((entry = readdir(dir))) {
		struct kmod_intervals saved;
		struct kmod_target *target;
		unsigned int tgid, execs;
		char file[PATH_MAX];
		bool same;

		if (sscanf(entry->d_name, "%u.%u", &tgid, &execs) != 2)
			continue;
		snprintf(file, sizeof(file), "%.2000s/%s", path, entry->d_name);
		if (kmod_intervals_read(&saved, file))
			return -1;
		target = kmod_model_find(model, tgid, execs);
		same = target && target->synced && target->exited &&
		       kmod_intervals_equal(&saved, &target->map) &&
		       kmod_intervals_pages(&saved) == target->exit_total;
		if (!same)
			fprintf(stderr, "# %s: %zu intervals, %llu pages; replay: %zu, %llu\n",
			       entry->d_name, saved.count,
			       (unsigned long long)kmod_intervals_pages(&saved),
			       target ? target->map.count : 0,
			       target ? (unsigned long long)target->exit_total : 0);
		kmod_intervals_destroy(&saved);
		if (!same)
			return -1;
		equal++;
	}
	closedir(dir);
	return equal;
}

static uint64_t totals(const struct kmod_model *model)
{
	uint64_t compared = 0;
	size_t i;

	for (i = 0; i < model->count; i++)
		compared += model->targets[i].compared;
	return compared;
}

#define CHECK_EXACT() do {									\
	struct massif_status status;								\
												\
	if (self->model.wrong)									\
		fprintf(stderr, "# %s\n", self->model.first_wrong);				\
	EXPECT_EQ(0, self->model.wrong);							\
	EXPECT_EQ(0, self->model.lost);								\
	EXPECT_EQ(0, self->model.gaps);								\
	EXPECT_EQ(0, self->model.unsure);							\
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));				\
	EXPECT_EQ(0, status.lost);								\
	EXPECT_EQ(0, status.missed);								\
	EXPECT_EQ(0, status.unseen);								\
	EXPECT_EQ(0, status.targets);								\
	EXPECT_EQ(0, status.processes);								\
	EXPECT_EQ(status.records, self->model.last_seq);					\
} while (0)

FIXTURE_VARIANT(accounting)
{
	char *words[5];		/* of torture; none: /bin/true */
	int saved;		/* maps that the program leaves */
	int exits;		/* of targets; the first is the launcher's child */
	uint64_t totals;	/* at least so many are compared */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(accounting, name) { __VA_ARGS__ }

VARIANT(bin_true,	{ NULL },					0, 2, 12);
VARIANT(alone_1,	{ "1", "1500" },				1, 2, 1500);
VARIANT(alone_2,	{ "2", "1500" },				1, 2, 1500);
VARIANT(alone_3,	{ "3", "1500" },				1, 2, 1500);
VARIANT(fork,		{ "4", "500", "fork" },				2, 3, 800);
VARIANT(vfork,		{ "5", "300", "vfork" },			1, 3, 400);
VARIANT(exec,		{ "6", "300", "exec" },				3, 4, 1000);
VARIANT(threads_1,	{ "7", "500", "threads" },			1, 2, 1500);
VARIANT(threads_2,	{ "8", "500", "threads" },			1, 2, 1500);
VARIANT(everything,	{ "9", "200", "threads", "fork", "exec" },	6, 7, 2000);

TEST_F_TIMEOUT(accounting, replays_exactly, 250)
{
	char *torture[8] = { self->torture, variant->words[0], variant->words[1],
			     variant->words[2], variant->words[3], variant->words[4] };
	char *just_true[] = { "/bin/true", NULL };
	bool tortured = variant->words[0];

	ASSERT_EQ(0, run_to_end(&self->session, &self->model, tortured ? torture : just_true));
	CHECK_EXACT();
	EXPECT_EQ(variant->saved, compare_maps(&self->model, self->maps));
	EXPECT_EQ(variant->exits, self->model.records[MASSIF_REC_EXIT]);
	EXPECT_LE(variant->totals, totals(&self->model));
	fprintf(stderr, "# %llu totals compared\n", (unsigned long long)totals(&self->model));
}

TEST_HARNESS_MAIN
