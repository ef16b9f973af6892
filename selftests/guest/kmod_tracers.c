// SPDX-License-Identifier: GPL-2.0
// Other tracers of the functions that we hook: both see all; who takes the one place makes us fall back.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/bpf_fentry.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/torture_run.h"

#define TRACING	"/sys/kernel/tracing/"

static int put(const char *file, const char *text)
{
	char path[128];
	int fd, err;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC | (*text ? 0 : O_TRUNC));
	if (fd < 0)
		return -errno;
	err = *text && write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* How many lines of a file have the word. */
static long lines(const char *file, const char *word)
{
	char path[128], line[512];
	long count = 0;
	FILE *from;

	snprintf(path, sizeof(path), TRACING "%s", file);
	from = fopen(path, "r");
	while (from && fgets(line, sizeof(line), from))
		count += line[0] != '#' && strstr(line, word);
	if (from)
		fclose(from);
	return count;
}

static int link_fd = -1;

static int start_fentry(void)
{
	link_fd = bpf_fentry("mmap_region");
	return link_fd < 0 ? link_fd : 0;
}

static void stop_fentry(void)
{
	if (link_fd >= 0)
		close(link_fd);
	link_fd = -1;
}

static int start_kprobe(void)
{
	return put("kprobe_events", "p:massif_other/entry mmap_region\n") ?:
	       put("events/massif_other/entry/enable", "1");
}

static void stop_kprobe(void)
{
	put("events/massif_other/enable", "0");
	put("kprobe_events", "");
}

static int start_kretprobe(void)
{
	return put("kprobe_events", "r:massif_other/return mmap_region\n") ?:
	       put("events/massif_other/return/enable", "1");
}

/* Behind ftrace's instruction, which may have a mark for indirect branches before it. */
static int start_inside(void)
{
	if (put("kprobe_events", "p:massif_other/inside mmap_region+5\n") &&
	    put("kprobe_events", "p:massif_other/inside mmap_region+9\n"))
		return -EIO;
	return put("events/massif_other/inside/enable", "1");
}

static int start_tracer(const char *tracer)
{
	return put("set_ftrace_filter", "mmap_region exit_mmap") ?: put("current_tracer", tracer);
}

static int start_function(void)
{
	return start_tracer("function");
}

static int start_graph(void)
{
	return start_tracer("function_graph");
}

static void stop_tracer(void)
{
	put("current_tracer", "nop");
	put("set_ftrace_filter", "");
}

/* A live patch. EINVAL: this kernel has none. That nobody has built ours is an error. */
static int start_patch(void)
{
	int err = kmod_module_load_own("massif_patch");

	return err == -ENOENT ? -EIO : err;
}

static void stop_patch(void)
{
	kmod_module_unload_soon("massif_patch");
}

FIXTURE(tracers)
{
	struct torture_run run;
	bool started;
};

FIXTURE_VARIANT(tracers)
{
	int (*start)(void);	/* 0 or -errno; -ENOENT, -EINVAL: not on this kernel */
	void (*stop)(void);
	const char *seen;	/* in the trace, of what it has seen */
	const char *needs;	/* this function of the kernel to see what has a direct call */
	bool takes_the_place;
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(tracers, name) { __VA_ARGS__ }

VARIANT(kprobe, start_kprobe, stop_kprobe, "entry:");
VARIANT(kretprobe, start_kretprobe, stop_kprobe, "return:");
VARIANT(kprobe_inside, start_inside, stop_kprobe, "inside:");
VARIANT(function, start_function, stop_tracer, "mmap_region");
VARIANT(function_graph, start_graph, stop_tracer, "mmap_region", "ftrace_graph_func");
VARIANT(live_patch, start_patch, stop_patch, .takes_the_place = true);
VARIANT(bpf_fentry, start_fentry, stop_fentry, .takes_the_place = true);

FIXTURE_SETUP(tracers)
{
	int err;

	/* It says once how its hooks are armed. */
	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(""));
	put("trace", "");
	self->run.session.fd = -1;
	err = variant->start();
	/* The harness runs the test even if its fixture has skipped it: the test says so itself. */
	if (err == -ENOENT || err == -EINVAL || err == -ENODEV)
		return;
	ASSERT_EQ(0, err);
	self->started = true;
	variant->stop();
	put("trace", "");
	}

FIXTURE_TEARDOWN(tracers)
{
	if (self->started) {
		variant->stop();
		if (self->run.session.fd >= 0)
			torture_run_close(&self->run);
	}
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

static uint32_t kind(int fd)
{
	struct massif_hook_info first = { .size = sizeof(first) };

	return ioctl(fd, MASSIF_IOC_HOOK, &first) ? 0 : first.kind;
}

static void run_exactly(struct __test_metadata *_metadata, struct torture_run *run)
{
	char *argv[] = { torture_run_program("torture"), "21", "300", "threads=2", "fork", NULL };

	ASSERT_EQ(0, torture_run(run, argv, 100 * 1000));
	EXPECT_TRUE(torture_run_exact(run)) TH_LOG("%s", run->wrong);
	EXPECT_LE(500, run->totals);
	fprintf(stderr, "# %llu totals\n", (unsigned long long)run->totals);
}

static bool kernel_has(const char *function)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %*s %255s", name) == 1 && !strcmp(name, function);
	if (file)
		fclose(file);
	return found;
}

static void expect_seen(struct __test_metadata *_metadata, const char *seen, const char *needs)
{
	long count = seen ? lines("trace", seen) : 0;

	if (!seen)
		return;
	/* 5.10's function_graph leaves out whatever has a direct call. */
	if (needs && !kernel_has(needs)) {
		EXPECT_EQ(0, count);
	} else {
		EXPECT_LT(100, count);
	}
	fprintf(stderr, "# %ld lines of the other tracer\n", count);
}

TEST_F_TIMEOUT(tracers, that_were_there_before, 120)
{
	uint32_t expected = variant->takes_the_place ? MASSIF_HOOK_KRETPROBE : MASSIF_HOOK_DETOUR;

	if (!self->started)
		SKIP(return, "this kernel has no such tracer");
	ASSERT_EQ(0, variant->start());
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(expected, kind(self->run.session.fd));
	run_exactly(_metadata, &self->run);
	expect_seen(_metadata, variant->seen, variant->needs);
	variant->stop();
	torture_run_close(&self->run);

	/* The next first session has what it wants. */
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(MASSIF_HOOK_DETOUR, kind(self->run.session.fd));
}

TEST_F_TIMEOUT(tracers, that_come_later, 120)
{
	if (!self->started)
		SKIP(return, "this kernel has no such tracer");
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(MASSIF_HOOK_DETOUR, kind(self->run.session.fd));
	if (variant->takes_the_place) {
		int err = variant->start();

		/* Ours is the place, until we go: a live patch is told EBUSY; BPF, too, and EINVAL by newer kernels. */
		EXPECT_TRUE(err == -EBUSY || err == -EINVAL) TH_LOG("%d", err);
	} else {
		ASSERT_EQ(0, variant->start());
	}
	run_exactly(_metadata, &self->run);
	if (!variant->takes_the_place)
		expect_seen(_metadata, variant->seen, variant->needs);
	/* The session goes first. */
	torture_run_close(&self->run);
	variant->stop();
	ASSERT_EQ(0, variant->start());
}

/* Kretprobes leave the place to others, also while there is a session. */
TEST_F_TIMEOUT(tracers, that_come_later_than_kretprobes, 120)
{
	if (!self->started || !variant->takes_the_place)
		SKIP(return, "no tracer of this kernel that detours keep away");
	ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	ASSERT_EQ(0, kmod_module_load("detours=0"));
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(MASSIF_HOOK_KRETPROBE, kind(self->run.session.fd));
	ASSERT_EQ(0, variant->start());
	run_exactly(_metadata, &self->run);
	torture_run_close(&self->run);
}

TEST_HARNESS_MAIN
