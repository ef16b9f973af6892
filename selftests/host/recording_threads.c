// SPDX-License-Identifier: GPL-2.0
// Recordings that keep the threads apart (--separate-threads): which thread has allocated what, and the threads' names.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(threads) {
	struct ctl_result result;
	char *said; /* what the program printed */
};

FIXTURE_SETUP(threads)
{
	ctl_remove_files("massif.");
	unsetenv("COLUMNS");
	setenv("LC_ALL", "C.UTF-8", 1);
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
}

FIXTURE_TEARDOWN(threads)
{
	free(self->said);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("threads");
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

#define RECORD(...) RUN("massif-ctl", "record", "-q", "--separate-threads=yes", "--record=massif.rec", "--time-unit=B", \
			"--massif-out-file=massif.out", __VA_ARGS__)

/* What the threads with an ID have allocated since the start. */
struct sums {
	uint64_t allocated, allocations;
	const char *name;
};

static struct sums sums_of(const struct mf_profile *profile, uint64_t tid)
{
	struct sums sums = { .name = "" };

	for (size_t i = 0; i < profile->n_threads; i++)
		if (profile->threads[i].tid == tid)
			sums.name = profile->threads[i].name;
	for (size_t i = 0; i < profile->n_contexts; i++) {
		if (profile->threads[profile->context_threads[i]].tid != tid)
			continue;
		sums.allocated += profile->counts[i].allocated;
		sums.allocations += profile->counts[i].allocations;
	}
	return sums;
}

/* Compares the lines that the program printed with the profile of @process. Returns how many were equal. */
static int compare(struct __test_metadata *_metadata, const char *said, const struct mf_recorded *process)
{
	const struct mf_profile *profile = &process->profile;
	int same = 0;

	for (const char *at = said; (at = strstr(at, "thread ")); at++) {
		uint64_t tid, bytes, calls;
		struct sums sums;
		char name[32];

		if (sscanf(at, "thread %" SCNu64 " %" SCNu64 " %" SCNu64 " %31[^\n]", &tid, &bytes, &calls, name) != 4)
			continue;
		sums = sums_of(profile, tid);
		if (!sums.allocations)
			continue; /* a thread of another process */
		EXPECT_EQ(bytes, sums.allocated);
		EXPECT_EQ(calls, sums.allocations);
		EXPECT_STREQ(name, sums.name);
		same += bytes == sums.allocated && calls == sums.allocations && strcmp(name, sums.name) == 0;
	}
	return same;
}

/* Eight threads that are named in different ways. */
TEST_F_TIMEOUT(threads, have_names_and_what_they_allocated, 120)
{
	struct mf_recording recording;

	ASSERT_EQ(0, RECORD(ctl_target("heap_thread_names")));
	self->said = strdup(self->result.out);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	ASSERT_EQ(1, recording.n_processes);
	/* The eight, the main thread, and number 0 for events of no thread. */
	EXPECT_EQ(10, recording.processes[0]->profile.n_threads);
	EXPECT_EQ(8, compare(_metadata, self->said, recording.processes[0]));
	EXPECT_STREQ("heap_thread_nam", sums_of(&recording.processes[0]->profile, recording.processes[0]->facts.pid).name);
	mf_recording_release(&recording);
}

TEST_F_TIMEOUT(threads, of_a_forked_child_are_its_own, 120)
{
	struct mf_recording recording;
	int same = 0;

	ASSERT_EQ(0, RECORD(ctl_target("heap_thread_names"), "fork"));
	self->said = strdup(self->result.out);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	ASSERT_EQ(2, recording.n_processes);
	for (size_t i = 0; i < 2; i++) {
		const struct mf_recorded *process = recording.processes[i];

		same += compare(_metadata, self->said, process);
		EXPECT_NE(0, sums_of(&process->profile, process->facts.pid).allocations);
		/* What was inherited belongs to the parent's thread. */
		if (process->facts.parent == recording.processes[!i]->facts.pid) {
			EXPECT_LE(12345, sums_of(&process->profile, process->facts.parent).allocated);
		}
	}
	EXPECT_EQ(16, same);
	mf_recording_release(&recording);
}

/* The profile is the same as one that does not keep threads apart, except for its desc line. */
TEST_F_TIMEOUT(threads, change_nothing_in_the_profile, 120)
{
	char *apart, *together;

	ASSERT_EQ(0, RECORD("--threshold=0", ctl_target("heap_thread_names")));
	apart = ctl_read_file("massif.out");
	ASSERT_EQ(0, RUN("massif-ctl", "run", "-q", "--time-unit=B", "--massif-out-file=massif.out", "--threshold=0",
			 ctl_target("heap_thread_names")));
	together = ctl_read_file("massif.out");
	ASSERT_NE(NULL, apart);
	ASSERT_NE(NULL, together);
	EXPECT_LT(1000, strlen(together));
	EXPECT_STREQ(strchr(together, '\n'), strchr(apart, '\n'));
	free(apart);
	free(together);
	/* Nor does a recording of them in the massif.out that is made of it. */
	ASSERT_EQ(0, RECORD(ctl_target("heap_thread_names")));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "massif.rec"));
	together = ctl_read_file("massif.out");
	EXPECT_STREQ(together, self->result.out);
	free(together);
}

static const struct {
	const char *command, *option;
	int status;
	const char *says;
} views[] = {
	{ "show", "--by=thread", 0, "  creator (" },
	{ "show", "--by=thread-name", 0, "  creator\n" },
	{ "show", "--thread=creator", 0, "100.00%  take (heap_thread_names.c:" },
	{ "show", "--thread=*creator", 0, "  8.789 KB" },
	{ "show", "--thread=nobody", 1, "no thread of this name or ID" },
	{ "export", "--thread=creator", 1, "massif has all stacks; use another format" },
	{ "export", "--to=json", 0, "\"name\":\"first creator\"" },
	{ "export", "--to=collapsed", 0, "take " },
};

TEST_F_TIMEOUT(threads, can_be_shown, 120)
{
	ASSERT_EQ(0, RECORD(ctl_target("heap_thread_names")));
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		EXPECT_EQ(views[i].status, RUN("massif-ctl", views[i].command, views[i].option, "massif.rec"));
		EXPECT_TRUE(HAS(views[i].says) || strstr(self->result.err, views[i].says)) {
			TH_LOG("%s %s: '%s' is not in:\n%s%s", views[i].command, views[i].option, views[i].says,
			       self->result.out, self->result.err);
		}
	}
	/* 5,000 bytes that are kept, and ten blocks of 10 bytes. */
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--tree", "--sort=calls", "--thread=creator", "massif.rec"));
	EXPECT_TRUE(HAS("\n        11 100.00%  in all\n")) TH_LOG("%s", self->result.out);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "--value=allocated", "--thread=creator", "massif.rec"));
	EXPECT_TRUE(HAS("take 5000\n")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("take 100\n"));
	ASSERT_EQ(0, RUN("massif-ctl", "diff", "--thread=creator", "massif.rec", "massif.rec"));
	/* IDs differ between runs, names do not. */
	ASSERT_EQ(0, RUN("massif-ctl", "diff", "--by=thread", "massif.rec", "massif.rec"));
	EXPECT_TRUE(HAS("in all"));
}

TEST_F_TIMEOUT(threads, are_labels_for_pprof, 120)
{
	if (RUN("go", "version"))
		SKIP(return, "go is not installed");
	ASSERT_EQ(0, RECORD(ctl_target("heap_thread_names")));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "massif.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "massif.pb.gz"));
	EXPECT_TRUE(HAS("thread:[first creator]"));
	EXPECT_TRUE(HAS("tid:["));
	/* Of the creator's thread: 5,000 bytes that are kept, and 10 at a time. */
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-top", "-sample_index=inuse_space", "-unit=B", "-tagfocus=thread=^creator$",
			 "massif.pb.gz"));
	EXPECT_TRUE(HAS("5000B")) TH_LOG("%s", self->result.out);
}

TEST_F_TIMEOUT(threads, that_were_not_recorded_are_said_to_be_missing, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out",
			 ctl_target("heap_thread_names")));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--by=thread", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--separate-threads=yes"));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--thread=x", "massif.out"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--by=thread", "massif.rec", "massif.rec"));
}

/* A sandbox that forbids all but a few system calls would kill the thread that asks for its name. */
TEST_F_TIMEOUT(threads, in_a_sandbox_have_no_names, 120)
{
	struct mf_recording recording;

	ctl_write_file("threads.c",
		       "#define _GNU_SOURCE\n"
		       "#include <linux/filter.h>\n#include <linux/seccomp.h>\n#include <pthread.h>\n#include <stddef.h>\n"
		       "#include <stdlib.h>\n#include <sys/prctl.h>\n#include <sys/syscall.h>\n"
		       "static void *run(void *x) { return malloc(4321); }\n"
		       "int main(void) {\n"
		       "struct sock_filter code[] = {\n"
		       "BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),\n"
		       "BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 1, 0),\n"
		       "BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),\n"
		       "BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),\n"
		       "BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };\n"
		       "struct sock_fprog filter = { 5, code };\n"
		       "pthread_t thread;\n"
		       "free(malloc(1));\n"
		       "if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter, 0, 0)) return 3;\n"
		       "if (pthread_create(&thread, NULL, run, NULL)) return 4;\n"
		       "return pthread_join(thread, NULL); }\n", 0644);
	ASSERT_EQ(0, RUN("cc", "-g", "-pthread", "-o", "threads", "threads.c"));
	ASSERT_EQ(0, RECORD("./threads"));
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	EXPECT_EQ(4321, sums_of(&recording.processes[0]->profile, 0).allocated);
	EXPECT_STREQ("", sums_of(&recording.processes[0]->profile, 0).name);
	mf_recording_release(&recording);
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=thread", "massif.rec"));
	EXPECT_TRUE(HAS("  (unnamed thread)\n"));
}

TEST_HARNESS_MAIN
