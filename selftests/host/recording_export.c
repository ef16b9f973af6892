// SPDX-License-Identifier: GPL-2.0
// Recordings of real programs: exported as massif.out files, they equal the files that the same runs wrote, for any
// options about trees; in other formats, their sums equal those of the snapshot.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define PERL	"/usr/bin/perl"
#define SCRIPT	"my %h; $h{$_} = $_ . ('x' x ($_ % 100)) for 1 .. 3000; delete $h{$_} for 1 .. 1000; " \
		"my @l = map { [$_, \"y$_\"] } 1 .. 2000;"

FIXTURE(recording) {
	struct ctl_result result;
};

FIXTURE_SETUP(recording)
{
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
	/* The comparison needs runs that allocate the same blocks at the same code addresses. */
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	setenv("PERL_HASH_SEED", "0", 1);
}

FIXTURE_TEARDOWN(recording)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

static bool same(const char *text, const char *path)
{
	char *contents = ctl_read_file(path);
	bool equal = contents && strcmp(text, contents) == 0;

	free(contents);
	return equal;
}

static const char *const options[] = {
	"--threshold=1.0", "--threshold=5", "--threshold=0", "--threshold=100", "--depth=1", "--depth=3", "--depth=200",
	"--alloc-fn=Perl_safesysmalloc", "--show-below-main=yes", "--sym-offsets=yes", "--fullpath-after=/",
	"--keep-debuginfo=no",
};

TEST_F_TIMEOUT(recording, equals_the_file_of_the_run, 180)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--time-unit=B", "--massif-out-file=out.1",
			 PERL, "-e", SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "massif.rec"));
	EXPECT_TRUE(same(self->result.out, "out.1"));
	EXPECT_TRUE(ctl_is_massif_file(self->result.out));
	/* The options are in the file as well, as if they had been given to the run. */
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		TH_LOG("%s", options[i]);
		ASSERT_EQ(0, RUN("massif-ctl", "run", "-q", "--time-unit=B", "--massif-out-file=out.1", options[i],
				 PERL, "-e", SCRIPT));
		ASSERT_EQ(0, RUN("massif-ctl", "export", options[i], "massif.rec"));
		EXPECT_TRUE(same(self->result.out, "out.1"));
	}
}

/* Every process of the run is in the one recording, and has the file that the run wrote for it. */
TEST_F_TIMEOUT(recording, holds_all_processes, 120)
{
	char name[256], pid[32], path[64], *list;
	size_t n = 0;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--trace-children=yes",
			 "--massif-out-file=out.%p", PERL, "-e",
			 "for (1 .. 3) { fork or exec '" PERL "', '-e', 'my @a = (1) x 10000' } 1 while wait != -1"));
	EXPECT_EQ(4, ctl_find_files("out.", name));
	/* Which one is meant has to be said. */
	EXPECT_EQ(1, RUN("massif-ctl", "export", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "several processes; choose one with --pid"));
	list = strdup(self->result.err);
	for (char *line = strtok(list, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long number = ctl_number(line, "massif-ctl: ");

		if (!number)
			continue;
		n++;
		snprintf(pid, sizeof(pid), "--pid=%lu", number);
		snprintf(path, sizeof(path), "out.%lu", number);
		ASSERT_EQ(0, RUN("massif-ctl", "export", "massif.rec", pid));
		EXPECT_TRUE(same(self->result.out, path));
	}
	EXPECT_EQ(4, n);
	free(list);
}

/* Returns the sum of the tree of the peak in a massif.out file, with threshold 0. */
static unsigned long long peak_of(const char *text)
{
	const char *peak = strstr(text, "heap_tree=peak\n");
	unsigned long long bytes = 0;

	if (peak)
		sscanf(peak, "heap_tree=peak\nn%*u: %llu", &bytes);
	return bytes;
}

static unsigned long long sum_of_lines(const char *text)
{
	unsigned long long sum = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *space = memrchr(text, ' ', (size_t)(end - text));

		sum += space ? strtoull(space, NULL, 10) : 0;
	}
	return sum;
}

TEST_F(recording, sums_are_those_of_the_snapshot)
{
	unsigned long long peak;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e",
			 SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--threshold=0", "massif.rec"));
	peak = peak_of(self->result.out);
	EXPECT_LT(100000, peak);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "massif.rec"));
	EXPECT_EQ(peak, sum_of_lines(self->result.out));
	EXPECT_EQ(0, strncmp(self->result.out, "main;", 5));
}

TEST_F(recording, speedscope_is_json_of_the_same_sum)
{
	char expected[64];

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e",
			 SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=speedscope", "-o", "out.json", "massif.rec"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "massif.rec"));
	snprintf(expected, sizeof(expected), "%llu\n", sum_of_lines(self->result.out));
	ASSERT_EQ(0, RUN("jq", "[.profiles[0].weights[]] | add", "out.json"));
	EXPECT_STREQ(expected, self->result.out);
}

/* Each number of the stacks, as a line for each: the sums are those of JSON's counts. */
TEST_F_TIMEOUT(recording, one_number_of_each_stack, 120)
{
	static const struct {
		const char *value, *query;
	} values[] = {
		{ "--value=bytes", "[.snapshots[] | select(.tree == \"peak\") | .bytes[][1]] | add" },
		{ "--value=calls", "[.counts[][1]] | add" },
		{ "--value=allocated", "[.counts[][2]] | add" },
		{ "--value=temporary", "[.counts[][3]] | add" },
		{ "--value=live-blocks", "[.counts[][4]] | add" },
	};

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e",
			 SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		unsigned long long sum, of_speedscope;

		ASSERT_EQ(0, RUN("jq", values[i].query, "out.json"));
		sum = strtoull(self->result.out, NULL, 10);
		EXPECT_LT(0, sum);
		ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", values[i].value, "massif.rec"));
		EXPECT_EQ(sum, sum_of_lines(self->result.out)) TH_LOG("%s", values[i].value);
		ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=speedscope", values[i].value, "-o", "out.speedscope",
				 "massif.rec"));
		ASSERT_EQ(0, RUN("jq", ".profiles[0].endValue", "out.speedscope"));
		of_speedscope = strtoull(self->result.out, NULL, 10);
		EXPECT_EQ(sum, of_speedscope) TH_LOG("%s", values[i].value);
	}
}

/* Returns the number at @text, which may have commas. */
static unsigned long long number_at(const char *text)
{
	unsigned long long number = 0;

	for (text += strspn(text, " "); (*text >= '0' && *text <= '9') || *text == ','; text++)
		if (*text != ',')
			number = 10 * number + (unsigned long long)(*text - '0');
	return number;
}

TEST_F_TIMEOUT(recording, callgrind_annotate_reads_it, 120)
{
	unsigned long long peak, allocated, blocks;
	const char *line;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e",
			 SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--threshold=0", "massif.rec"));
	peak = peak_of(self->result.out);
	/* The counts of all stacks, from another writer. */
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
	ASSERT_EQ(0, RUN("jq", "[.counts[][1]] | add", "out.json"));
	blocks = strtoull(self->result.out, NULL, 10);
	ASSERT_EQ(0, RUN("jq", "[.counts[][2]] | add", "out.json"));
	allocated = strtoull(self->result.out, NULL, 10);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=callgrind", "-o", "out.cg", "massif.rec"));
	ASSERT_EQ(0, RUN("callgrind_annotate", "out.cg"));
	EXPECT_NE(NULL, strstr(self->result.out, "Events recorded:  curB totB totBk\n"));
	line = strstr(self->result.out, "PROGRAM TOTALS");
	ASSERT_NE(NULL, line);
	while (line > self->result.out && line[-1] != '\n')
		line--;
	EXPECT_LT(100, blocks);
	EXPECT_EQ(peak, number_at(line));
	EXPECT_EQ(allocated, number_at(strchr(line, ')') + 1));
	EXPECT_EQ(blocks, number_at(strchr(strchr(line, ')') + 1, ')') + 1));
}

/* The JSON's last snapshot is the end, its sums are those of the snapshots, and its references are valid. */
TEST_F_TIMEOUT(recording, json_is_complete, 120)
{
	static const char *const all_true[] = {
		".snapshots | all(.tree == \"empty\" or ([.bytes[][1]] | add // 0) == .heap_bytes)",
		"(.stacks | length) as $n | [.snapshots[].bytes[]?[0], .counts[][0]] | all(. < $n)",
		"(.calls | length) as $n | [.stacks[][]] | all(. < $n)",
		"[.counts[] | .[1] >= .[3] and .[1] >= .[4]] | all",
		"([.counts[][4]] | add) > 0 and .format == \"massif\" and .pages == false and .time_unit == \"B\"",
		"([.counts[] | select(.[4] > 0) | .[0]] | sort) == ([.snapshots[-1].bytes[][0]] | sort)",
		"[.calls[] | select(.function == \"main\")] | length > 0",
	};

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--time-unit=B", "--record=massif.rec", "--massif-out-file=out.1",
			 PERL, "-e", SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
	for (size_t i = 0; i < sizeof(all_true) / sizeof(all_true[0]); i++) {
		EXPECT_EQ(0, RUN("jq", "-e", all_true[i], "out.json")) {
			TH_LOG("%s: %s%s", all_true[i], self->result.out, self->result.err);
		}
	}
	/* A massif.out file can be exported, too; it has no counts. */
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "out.1"));
	ASSERT_EQ(0, RUN("jq", "-e", "(.snapshots | length) > 10 and .counts == null", "out.json"));
}

/* Adds up the samples that "go tool pprof -raw" prints: allocations, their bytes, live bytes, and the locations. */
static size_t sum_of_samples(const char *text, unsigned long long sums[3])
{
	const char *at = strstr(text, "\nSamples:\n"), *end = strstr(text, "\nLocations\n");
	size_t n = 0;

	/* The line after "Samples:" names the types. */
	at = at ? strchr(at + strlen("\nSamples:\n"), '\n') : NULL;
	for (; at && at < end; at = strchr(at + 1, '\n')) {
		unsigned long long values[3];

		if (sscanf(at, " %llu %llu %llu:", &values[0], &values[1], &values[2]) != 3)
			continue;
		for (int i = 0; i < 3; i++)
			sums[i] += values[i];
		n++;
	}
	return n;
}

TEST_F_TIMEOUT(recording, pprof_reads_it, 120)
{
	unsigned long long sums[3] = { 0 }, peak;
	char expected[64];

	if (RUN("go", "version"))
		SKIP(return, "go is not installed");
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e",
			 SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--threshold=0", "massif.rec"));
	peak = peak_of(self->result.out);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "out.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_NE(NULL, strstr(self->result.out, "alloc_objects/count alloc_space/bytes inuse_space/bytes"));
	EXPECT_NE(NULL, strstr(self->result.out, "/usr/bin/perl "));
	EXPECT_LT(100, sum_of_samples(self->result.out, sums));
	EXPECT_EQ(peak, sums[2]);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	snprintf(expected, sizeof(expected), " in %llu blocks, ", sums[0]);
	EXPECT_NE(NULL, strstr(self->result.out, expected));
	/* At the end, the live blocks are known, too: what was allocated and not freed. */
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "--at=end", "-o", "out.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_NE(NULL, strstr(self->result.out, "alloc_space/bytes inuse_objects/count inuse_space/bytes"));
	memset(sums, 0, sizeof(sums));
	sum_of_samples(self->result.out, sums);
	peak = sums[2];
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
	ASSERT_EQ(0, RUN("jq", "[.counts[][4]] | add", "out.json"));
	EXPECT_EQ(peak, strtoull(self->result.out, NULL, 10));
}

static const struct {
	const char *what, *words[4];
	const char *says;
} mistakes[] = {
	{ "no file", { "export" }, "no recording specified" },
	{ "no such file", { "export", "out.none" }, "cannot read 'out.none': No such file or directory" },
	{ "another kind of file", { "export", "/bin/sh" }, "cannot read '/bin/sh': it is not a recording" },
	{ "a directory", { "export", "." }, "it is not a regular file" },
	{ "no such format", { "export", "--to=x", "massif.rec" },
	  "there are massif, callgrind, collapsed, speedscope, pprof, json" },
	{ "no such process", { "export", "--pid=1", "massif.rec" }, "the recording has no process 1; it has:" },
	{ "no process", { "export", "--pid=x", "massif.rec" }, "--pid=x: not a process id" },
	{ "no such value", { "export", "--to=collapsed", "--value=x", "massif.rec" }, "use bytes, calls, allocated" },
	{ "several values", { "export", "--to=pprof", "--value=calls", "massif.rec" }, "only collapsed and speedscope" },
	{ "no such snapshot", { "export", "--to=collapsed", "--at=1000", "massif.rec" }, "there is no snapshot 1000" },
	{ "no snapshot", { "export", "--at=x", "massif.rec" }, "use peak, end, the number of a snapshot, or a time" },
	{ "no tree", { "export", "--to=collapsed", "--at=0", "massif.rec" }, "snapshot 0 has no tree" },
	{ "an option of the run", { "export", "--time-unit=B", "massif.rec" }, "already recorded" },
	{ "two files", { "export", "massif.rec", "out.1" }, "one file too many: 'out.1'" },
};

TEST_F_TIMEOUT(recording, mistakes_are_explained, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.1", PERL, "-e", "1"));
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		const char *const *words = mistakes[i].words;

		TH_LOG("%s", mistakes[i].what);
		EXPECT_EQ(1, RUN("massif-ctl", words[0], words[1], words[2], words[3]));
		EXPECT_NE(NULL, strstr(self->result.err, mistakes[i].says)) {
			TH_LOG("it says: %s", self->result.err);
		}
		EXPECT_STREQ("", self->result.out);
	}
}

/*
 * A massif.out file of Valgrind's Massif: the sum is that of its peak, and functions, files and lines are told apart.
 */
TEST_F_TIMEOUT(recording, reads_massif_out_files, 120)
{
	unsigned long long peak;
	char *text;

	RUN("/usr/bin/valgrind", "-q", "--tool=massif", "--massif-out-file=out.1", ctl_target("heap_example"));
	text = ctl_read_file("out.1");
	ASSERT_NE(NULL, text);
	peak = peak_of(text);
	free(text);
	EXPECT_LT(0, peak);
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "out.1"));
	EXPECT_EQ(peak, sum_of_lines(self->result.out));
	EXPECT_NE(NULL, strstr(self->result.out, "main;g 4000\n"));
	EXPECT_NE(NULL, strstr(self->result.out, "main;f;g 4000\n"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "out.1"));
	EXPECT_NE(NULL, strstr(self->result.out, "g (heap_example.c:"));
	EXPECT_NE(NULL, strstr(self->result.out, "last tree"));
	/* What it does not have. */
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--sort=calls", "out.1"));
	EXPECT_NE(NULL, strstr(self->result.err, "the file has no calls"));
	EXPECT_EQ(1, RUN("massif-ctl", "export", "out.1"));
	EXPECT_NE(NULL, strstr(self->result.err, "already is a massif.out file"));
}

static const struct {
	const char *text, *says;
} bad_texts[] = {
	{ "desc: x\n", "line 1: there is no cmd: " },
	{ "desc: x\ncmd: y\ntime_unit: s\n", "line 3: the unit of time is not i, ms or B" },
	{ "desc: x\ncmd: y\ntime_unit: B\n", "line 3: there are no snapshots" },
	{ "desc: x\ncmd: y\ntime_unit: B\nsnapshot=0\ntime=1\nmem_heap_B=x\n", "line 6: mem_heap_B= has no number" },
	{ "desc: x\ncmd: y\ntime_unit: B\nsnapshot=0\ntime=1\nmem_heap_B=1\nmem_heap_extra_B=1\nmem_stacks_B=0\n"
	  "heap_tree=empty\n", "none of its snapshots has a tree" },
	{ "desc: x\ncmd: y\ntime_unit: B\nsnapshot=0\ntime=1\nmem_heap_B=1\nmem_heap_extra_B=1\nmem_stacks_B=0\n"
	  "heap_tree=peak\nn1: 1 root\n   n0: 1 0x1: f (g.c:1)\n", "line 11: it is no entry of a tree" },
};

TEST_F(recording, says_what_is_wrong_with_massif_out_files)
{
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
		ctl_write_file("out.bad", bad_texts[i].text, 0644);
		EXPECT_EQ(1, RUN("massif-ctl", "show", "out.bad"));
		EXPECT_NE(NULL, strstr(self->result.err, bad_texts[i].says)) {
			TH_LOG("%s: it says %s", bad_texts[i].says, self->result.err);
		}
		EXPECT_STREQ("", self->result.out);
	}
}

/* A recording of two processes that ends too early: the first is read, and a warning says so. */
TEST_F(recording, keeps_what_is_whole)
{
	struct stat whole;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=out.%p", PERL, "-e",
			 "fork or exit; wait"));
	ASSERT_EQ(0, stat("massif.rec", &whole));
	ASSERT_EQ(0, truncate("massif.rec", whole.st_size - 1));
	EXPECT_EQ(0, RUN("massif-ctl", "export", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "'massif.rec' is damaged: it ends within the section at byte "));
	EXPECT_TRUE(ctl_is_massif_file(self->result.out));
	ASSERT_EQ(0, truncate("massif.rec", 100));
	EXPECT_EQ(1, RUN("massif-ctl", "export", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "cannot read 'massif.rec': it ends within"));
	ASSERT_EQ(0, truncate("massif.rec", 0));
	EXPECT_EQ(1, RUN("massif-ctl", "export", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "it is not a recording"));
}

TEST_HARNESS_MAIN
