// SPDX-License-Identifier: GPL-2.0
// Threads in recordings. With --separate-threads, a recording says which thread has allocated each block; without it, how
// much each thread has allocated in all. Both have the names of the threads.

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
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];

		if (total->thread.tid != tid)
			continue;
		sums.name = total->thread.name;
		sums.allocated += total->sums.allocated;
		sums.allocations += total->sums.allocations;
	}
	for (size_t i = 0; profile->threads && i < profile->n_contexts; i++) {
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

/* Like RECORD(), but only the sums of each thread are kept. */
#define RECORD_TOTALS(...) RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", __VA_ARGS__)

/* Checks that what the threads have allocated is what the stacks have. Returns the threads that have an ID. */
static size_t check_totals(struct __test_metadata *_metadata, const struct mf_profile *profile)
{
	struct mf_thread_sums of_threads = { 0 }, of_stacks = { 0 };
	size_t n = 0;

	EXPECT_EQ(NULL, profile->threads);
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];

		of_threads.allocations += total->sums.allocations;
		of_threads.allocated += total->sums.allocated;
		of_threads.temporaries += total->sums.temporaries;
		n += total->thread.tid != 0;
	}
	for (size_t i = 0; i < profile->n_contexts; i++) {
		of_stacks.allocations += profile->counts[i].allocations;
		of_stacks.allocated += profile->counts[i].allocated;
		of_stacks.temporaries += profile->counts[i].temporaries;
	}
	EXPECT_NE(0, of_stacks.allocations);
	EXPECT_EQ(of_stacks.allocations, of_threads.allocations);
	EXPECT_EQ(of_stacks.allocated, of_threads.allocated);
	EXPECT_EQ(of_stacks.temporaries, of_threads.temporaries);
	return n;
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

static const char *const units[] = { "--time-unit=B", "--time-unit=ms" };

/* Whether the model handles few or many of the events. */
TEST_F_TIMEOUT(threads, have_totals_in_any_recording, 120)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct mf_recording recording;

		ASSERT_EQ(0, RECORD_TOTALS(units[i], ctl_target("heap_thread_names")));
		self->said = strdup(self->result.out);
		ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
		ASSERT_EQ(1, recording.n_processes);
		EXPECT_EQ(9, check_totals(_metadata, &recording.processes[0]->profile));
		EXPECT_EQ(8, compare(_metadata, self->said, recording.processes[0]));
		/* Ten blocks of 10 bytes, each freed at once. */
		for (size_t k = 0; k < recording.processes[0]->profile.n_thread_totals; k++) {
			const struct mf_thread_total *total = &recording.processes[0]->profile.thread_totals[k];

			if (strcmp(total->thread.name, "creator") == 0)
				EXPECT_EQ(10, total->sums.temporaries);
		}
		mf_recording_release(&recording);
		free(self->said);
		self->said = NULL;
	}
}

/* The child's totals begin with what the parent's threads had allocated. */
TEST_F_TIMEOUT(threads, have_totals_of_their_own_after_a_fork, 120)
{
	struct mf_recording recording;
	int same = 0;

	ASSERT_EQ(0, RECORD_TOTALS(ctl_target("heap_thread_names"), "fork"));
	self->said = strdup(self->result.out);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	ASSERT_EQ(2, recording.n_processes);
	for (size_t i = 0; i < 2; i++) {
		const struct mf_recorded *process = recording.processes[i];

		check_totals(_metadata, &process->profile);
		same += compare(_metadata, self->said, process);
		EXPECT_NE(0, sums_of(&process->profile, process->facts.pid).allocations);
		if (process->facts.parent == recording.processes[!i]->facts.pid) {
			EXPECT_LE(12345, sums_of(&process->profile, process->facts.parent).allocated);
		}
	}
	EXPECT_EQ(16, same);
	mf_recording_release(&recording);
}

/*
 * A program of @n threads that all run at the same time, with the main thread. Thread i allocates 1000 + i bytes, and then
 * 10 bytes twice, which it frees at once.
 */
static const char crowd[] =
	"#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
	"static pthread_barrier_t all;\n"
	"static void *kept[1000];\n"
	"static void *run(void *x) { kept[(intptr_t)x] = malloc(1000 + (intptr_t)x); pthread_barrier_wait(&all);\n"
	"for (int i = 0; i < 2; i++) free(malloc(10)); pthread_barrier_wait(&all); return NULL; }\n"
	"int main(int argc, char **argv) { long n = atol(argv[1]); pthread_t threads[1000];\n"
	"free(malloc(1));\n"
	"pthread_barrier_init(&all, NULL, n);\n"
	"for (long i = 0; i < n; i++) if (pthread_create(&threads[i], NULL, run, (void *)i)) return 1;\n"
	"for (long i = 0; i < n; i++) pthread_join(threads[i], NULL); return 0; }\n";

/* The main thread has a tally, and each of 63 others; one more, and ten times as many, share these. */
TEST_F_TIMEOUT(threads, that_share_tallies_have_a_total_together, 120)
{
	static const struct {
		const char *threads;
		size_t of_other_threads; /* allocations */
	} runs[] = { { "63", 0 }, { "64", 1 }, { "630", 1 } };

	ctl_write_file("threads.c", crowd, 0644);
	ASSERT_EQ(0, RUN("cc", "-g", "-pthread", "-o", "threads", "threads.c"));
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct mf_recording recording;
		const struct mf_profile *profile;

		ASSERT_EQ(0, RECORD_TOTALS("./threads", runs[i].threads));
		ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
		profile = &recording.processes[0]->profile;
		EXPECT_EQ(strtoul(runs[i].threads, NULL, 10) + 1, check_totals(_metadata, profile));
		EXPECT_EQ(runs[i].of_other_threads, profile->thread_totals[0].sums.allocations > 0);
		EXPECT_STREQ(runs[i].of_other_threads ? "(other threads)" : "", profile->thread_totals[0].thread.name);
		mf_recording_release(&recording);
	}
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

/* Without --separate-threads, questions about totals are answered, and others say what they need. */
TEST_F_TIMEOUT(threads, whose_stacks_are_not_apart_have_totals_only, 120)
{
	static const char *const needing[] = {
		"--thread=creator", "--leaks", "--tree", "--at=end", "--sort=growth", "--sort=largest", "--sort=blocks",
		"--sizes", "--lifetimes", "--through=take",
	};

	ASSERT_EQ(0, RECORD_TOTALS(ctl_target("heap_thread_names")));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=thread", "massif.rec"));
	EXPECT_TRUE(HAS("        11   4.980 KB         10 ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("  creator ("));
	EXPECT_TRUE(HAS("--separate-threads=yes"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=thread-name", "--sort=calls", "--filter=^creator", "--top=1",
			 "massif.rec"));
	EXPECT_TRUE(HAS("        11   4.980 KB         10 100.00%  creator\n")) TH_LOG("%s", self->result.out);
	EXPECT_FALSE(HAS("destructor"));
	for (size_t i = 0; i < sizeof(needing) / sizeof(needing[0]); i++) {
		EXPECT_EQ(1, RUN("massif-ctl", "show", "--by=thread", needing[i], "massif.rec"));
		EXPECT_NE(NULL, strstr(self->result.err, "--separate-threads=yes")) TH_LOG("%s", needing[i]);
	}
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--by=thread", "massif.rec", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--separate-threads=yes"));
	EXPECT_EQ(0, RUN("massif-ctl", "export", "--to=json", "massif.rec"));
	EXPECT_TRUE(HAS("\"name\":\"creator\",\"allocations\":11,\"allocated\":5100,\"temporary\":10}"));
	/* If a recording has several processes, the table has the threads of all of them. */
	ASSERT_EQ(0, RECORD_TOTALS(ctl_target("heap_thread_names"), "fork"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=thread-name", "massif.rec"));
	EXPECT_TRUE(HAS("        22   9.961 KB         20 ")) TH_LOG("%s", self->result.out);
}

TEST_F_TIMEOUT(threads, that_were_not_recorded_are_said_to_be_missing, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "run", "-q", "--massif-out-file=massif.out", ctl_target("heap_thread_names")));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--by=thread", "massif.out"));
	EXPECT_NE(NULL, strstr(self->result.err, "--separate-threads=yes"));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--thread=x", "massif.out"));
	EXPECT_EQ(2, RUN("massif-ctl", "diff", "--by=thread", "massif.out", "massif.out"));
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
	ASSERT_EQ(0, RECORD_TOTALS("./threads"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=thread", "massif.rec"));
	EXPECT_TRUE(HAS("  (unnamed thread)\n"));
}

TEST_HARNESS_MAIN
