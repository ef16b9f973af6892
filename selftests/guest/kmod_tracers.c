// SPDX-License-Identifier: GPL-2.0
// Tests massif.ko while other tracers are attached to the functions that it hooks: both must see all calls. If a BPF
// program or a live patch already uses such a function, massif.ko falls back to kretprobes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/torture_run.h"
#include "selftests/lib/tracers.h"

#define FUNCTION	"mmap_region"

/*
 * Loads a live patch. Returns 0 or -errno: -EINVAL if the kernel does not support live patching, and -EIO if the patch
 * was not built, because the fixture would take -ENOENT to mean that the kernel lacks support.
 */
static int start_patch(const char *function)
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
	/* starts the tracer; returns 0 or -errno; -ENOENT and -EINVAL mean that this kernel does not support it */
	int (*start)(const char *function);
	void (*stop)(void);
	const char *seen;	/* text in trace lines that proves that the tracer was called */
	/*
	 * kernel function that the tracer needs in order to see calls to functions that have an ftrace direct call;
	 * NULL if it needs none
	 */
	const char *needs;
	bool takes_the_place;
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(tracers, name) { __VA_ARGS__ }

VARIANT(kprobe, tracers_start_kprobe, tracers_stop_kprobe, "entry:");
VARIANT(kretprobe, tracers_start_kretprobe, tracers_stop_kprobe, "return:");
VARIANT(kprobe_inside, tracers_start_inside, tracers_stop_kprobe, "inside:");
VARIANT(function, tracers_start_function, tracers_stop_tracer, FUNCTION);
VARIANT(function_graph, tracers_start_graph, tracers_stop_tracer, FUNCTION, "ftrace_graph_func");
VARIANT(live_patch, start_patch, stop_patch, .takes_the_place = true);
VARIANT(bpf_fentry, tracers_start_fentry, tracers_stop_fentry, .takes_the_place = true);

FIXTURE_SETUP(tracers)
{
	int err;

	/* Reload the module, because it logs only once how its hooks are armed. */
	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(""));
	tracers_put("trace", "");
	self->run.session.fd = -1;
	err = variant->start(FUNCTION);
	/* The harness runs the test even if its fixture skips, so the test itself skips. */
	if (err == -ENOENT || err == -EINVAL || err == -ENODEV)
		return;
	ASSERT_EQ(0, err);
	self->started = true;
	variant->stop();
	tracers_put("trace", "");
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
	long count = seen ? tracers_lines("trace", seen) : 0;

	if (!seen)
		return;
	/* In Linux 5.10, function_graph does not show functions to which an ftrace direct call is attached. */
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
	ASSERT_EQ(0, variant->start(FUNCTION));
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(expected, kind(self->run.session.fd));
	run_exactly(_metadata, &self->run);
	expect_seen(_metadata, variant->seen, variant->needs);
	variant->stop();
	torture_run_close(&self->run);

	/* Now that no session is open, the next one arms the hooks anew and uses direct calls again. */
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
		int err = variant->start(FUNCTION);

		/*
		 * massif.ko keeps its direct calls for the whole session. So a live patch fails with EBUSY, and BPF
		 * with EBUSY or, on newer kernels, EINVAL.
		 */
		EXPECT_TRUE(err == -EBUSY || err == -EINVAL) TH_LOG("%d", err);
	} else {
		ASSERT_EQ(0, variant->start(FUNCTION));
	}
	run_exactly(_metadata, &self->run);
	if (!variant->takes_the_place)
		expect_seen(_metadata, variant->seen, variant->needs);
	/* Unlike in the previous test, the session ends before the tracer stops. */
	torture_run_close(&self->run);
	variant->stop();
	ASSERT_EQ(0, variant->start(FUNCTION));
}

/*
 * A function can have only one ftrace direct call. When massif.ko uses kretprobes instead, it leaves the direct call
 * free for other tracers, even during a session.
 */
TEST_F_TIMEOUT(tracers, that_come_later_than_kretprobes, 120)
{
	if (!self->started || !variant->takes_the_place)
		SKIP(return, "no tracer of this kernel that detours keep away");
	ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	ASSERT_EQ(0, kmod_module_load("detours=0"));
	ASSERT_EQ(0, torture_run_open(&self->run));
	EXPECT_EQ(MASSIF_HOOK_KRETPROBE, kind(self->run.session.fd));
	ASSERT_EQ(0, variant->start(FUNCTION));
	run_exactly(_metadata, &self->run);
	torture_run_close(&self->run);
}

TEST_HARNESS_MAIN
