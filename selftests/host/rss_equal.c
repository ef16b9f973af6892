// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set of real programs, each taken while the program is stopped: the bands add up to what the kernel
// counts. Prints the distribution of the differences. RSS_SAMPLES in the environment says how many samples there are; make
// check-rss takes 1,000.

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "residency/sample.h"
#include "selftests/lib/ctl_run.h"

#define SAMPLES 100 /* unless RSS_SAMPLES says otherwise */
#define PAGE	4096ll

/*
 * Since Linux 6.2, each processor adds its changes to a counter of the process only from time to time: VmRSS is the sum of
 * three counters, of which each can be wrong by so many pages for each processor.
 */
#define COUNTERS 3
#define BATCH	 64

/* Programs that run for a second or longer. A program that ends is started again. */
static const struct {
	const char *name, *command;
} programs[] = {
	{ "python3", "exec python3 -c 'l = []\nfor i in range(10**9): l.append(str(i)); l = l[-200000:] if len(l) > 400000 "
		     "else l'" },
	{ "perl", "exec perl -e 'my %h; for (my $i = 0; ; $i++) { $h{$i % 300000} = \"x\" x ($i % 500); }'" },
	{ "sqlite3", "exec sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all "
		     "select x + 1 from c limit 3000000) insert into t select x, hex(randomblob(20)) from c; "
		     "select count(*) from t order by b;'" },
	{ "git", "cd \"$0\"/.. && exec git log --stat -p" },
	{ "cc1", "exec $(gcc -print-prog-name=cc1) -quiet -O2 -fpreprocessed -o /dev/null massif.equal.c" },
	{ "xz", "exec xz -3 -c /dev/zero" },
	{ "sort", "seq 1 4000000 | sed 's/^/1/' >massif.equal.in; exec sort -r massif.equal.in" },
	{ "jq", "exec jq -n '[limit(3000000; range(10000000))] | map(tostring) | length'" },
	{ "luajit", "exec luajit -e 'local t = {} for i = 1, 1e9 do t[i % 100000] = tostring(i) end'" },
	{ "redis-server", "exec redis-server --save '' --port 0 --unixsocket massif.equal.s" },
};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

FIXTURE(equal) {
	struct mf_store store;
	pid_t pid;
	long long *of_rollup, *of_status; /* differences in bytes */
	size_t n, most;
};

FIXTURE_SETUP(equal)
{
	const char *asked = getenv("RSS_SAMPLES");
	struct mf_error err;
	FILE *source;

	self->most = asked ? strtoul(asked, NULL, 10) : SAMPLES;
	self->of_rollup = calloc(self->most + PROGRAMS, sizeof(*self->of_rollup));
	self->of_status = calloc(self->most + PROGRAMS, sizeof(*self->of_status));
	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	source = fopen("massif.equal.c", "w");
	for (int i = 0; i < 20000; i++)
		fprintf(source, "int f%d(int a, int b) { for (int i = 0; i < b; i++) a += a * %d ^ i; return a; }\n", i, i);
	fclose(source);
}

FIXTURE_TEARDOWN(equal)
{
	free(self->of_rollup);
	free(self->of_status);
	mf_store_detach(&self->store);
	ctl_remove_files("massif.");
}

/* Returns the kilobytes on the line that begins with @word of /proc/PID/@name, in bytes; -1 if there is none. */
static long long read_line(pid_t pid, const char *name, const char *word)
{
	char path[64], line[256];
	long long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			kib = strtoll(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}

static void start(FIXTURE_DATA(equal) *self, size_t i)
{
	static char top[4096];

	if (!*top && !realpath(getenv("MASSIF_BUILD") ?: ".", top))
		strcpy(top, "/");
	self->pid = fork();
	if (self->pid)
		return;
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "r", stdin))
		_exit(1);
	setenv("GIT_PAGER", "cat", 1);
	execlp("sh", "sh", "-c", programs[i].command, top, (char *)NULL);
	_exit(1);
}

/* Stops the program. Returns false if it has ended. */
static bool stop(FIXTURE_DATA(equal) *self)
{
	int status;

	kill(self->pid, SIGSTOP);
	return waitpid(self->pid, &status, WUNTRACED) == self->pid && WIFSTOPPED(status);
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(equal) *self, struct mf_thread_stacks *stacks)
{
	struct mf_residency_detail detail;
	struct mf_error err;
	long long rss;

	ASSERT_EQ(0, mf_sample_take(self->pid, &self->store, 0, stacks, &detail, &err)) TH_LOG("%s", err.text);
	rss = (long long)mf_residency_rss(&detail.sample);
	self->of_rollup[self->n] = rss - read_line(self->pid, "smaps_rollup", "Rss:");
	self->of_status[self->n] = rss - read_line(self->pid, "status", "VmRSS:");
	self->n++;
	mf_residency_detail_deinit(&detail);
}

static int compare_numbers(const void *a, const void *b)
{
	const long long *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static void print(struct __test_metadata *_metadata, const char *what, long long *differences, size_t n)
{
	size_t zeros = 0;

	qsort(differences, n, sizeof(*differences), compare_numbers);
	for (size_t i = 0; i < n; i++)
		zeros += !differences[i];
	TH_LOG("sum of bands less %s, %zu samples: %zu are 0; least %lld, 5 %% %lld, median %lld, 95 %% %lld, most %lld KiB",
	       what, n, zeros, differences[0] / 1024, differences[n / 20] / 1024, differences[n / 2] / 1024,
	       differences[n - 1 - n / 20] / 1024, differences[n - 1] / 1024);
}

TEST_F_TIMEOUT(equal, to_what_the_kernel_counts, 1800)
{
	long long bound = COUNTERS * BATCH * sysconf(_SC_NPROCESSORS_CONF) * PAGE;
	unsigned int seed = 1;

	for (size_t i = 0; i < PROGRAMS; i++) {
		struct mf_thread_stacks stacks = { 0 };
		size_t until = self->n + (self->most + PROGRAMS - 1) / PROGRAMS;
		int tries = 0;

		start(self, i);
		while (self->n < until && tries < 10000) {
			usleep((useconds_t)(1000 + rand_r(&seed) % 50000));
			tries++;
			if (!stop(self)) {
				start(self, i);
				continue;
			}
			compare(_metadata, self, &stacks);
			kill(self->pid, SIGCONT);
		}
		EXPECT_EQ(until, self->n) TH_LOG("%s", programs[i].name);
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
		mf_thread_stacks_deinit(&stacks);
	}
	print(_metadata, "Rss of smaps_rollup", self->of_rollup, self->n);
	print(_metadata, "VmRSS", self->of_status, self->n);
	/* smaps counts pages; VmRSS is an estimate. */
	EXPECT_EQ(0, self->of_rollup[0]);
	EXPECT_EQ(0, self->of_rollup[self->n - 1]);
	EXPECT_LE(-bound, self->of_status[0]);
	EXPECT_GE(bound, self->of_status[self->n - 1]);
}

TEST_HARNESS_MAIN
