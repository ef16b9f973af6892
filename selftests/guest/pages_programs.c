// SPDX-License-Identifier: GPL-2.0
// Runs massif-ctl --pages-as-heap on real programs: the model must equal /proc/PID/maps at selected moments during the
// run and at the end.

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/pages_trace.h"
#include "selftests/lib/pages_tree.h"

#define DUMP   "intervals"
#define OUT    "stdout"
#define REPORT "report."

#define INPUT  "input"

/* A Python program without newlines, because ms_print does not support a newline in the profile's cmd line. */
static const char python[] = "import json;"
			     "d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)};"
			     "s = json.dumps(d);"
			     "print(len(json.loads(s)))";

FIXTURE(programs)
{
	struct trace_set real, model;
	char *argv[24];
	int argc;
};

static void add(FIXTURE_DATA(programs) * self, const char *word)
{
	self->argv[self->argc++] = (char *)word;
}

FIXTURE_SETUP(programs)
{
	memset(self, 0, sizeof(*self));
	ctl_remove_files(REPORT);
	unlink(DUMP);
	unlink(OUT);
	mkdir("maps", 0700);
	setenv("TORTURE_MAPS", "maps", 1);
	setenv("MASSIF_DUMP_INTERVALS", DUMP, 1);
	unlink(INPUT);
	add(self, ctl_path());
	add(self, "--pages-as-heap");
	add(self, "--time-unit=B");
	add(self, "--threshold=0");
	add(self, "--depth=200");
	add(self, "--massif-out-file=" REPORT "%p");
}

FIXTURE_TEARDOWN(programs)
{
	trace_set_free(&self->real);
	trace_set_free(&self->model);
}

/*
 * Compares massif-ctl's model of a process with the kernel's mappings. Both were saved at the same moment, either
 * during the run or when the process ended.
 */
static void check_maps(struct __test_metadata *_metadata, const struct trace_maps *model,
		       const struct trace_maps *real)
{
	ASSERT_NE(real, NULL);
	EXPECT_EQ(model->model_pages, real->size) TH_LOG("moment %u", model->moment);
	EXPECT_EQ(model->model_pages, model->kernel_pages);
	EXPECT_EQ(model->model_pages, real->pages);
	EXPECT_EQ(model->lost, 0);
	EXPECT_EQ(model->mismatches, 0);
	EXPECT_GE(model->n_ranges, 3);
	EXPECT_TRUE(trace_maps_equal(model, real));
}

static void check_report(struct __test_metadata *_metadata, pid_t pid)
{
	char path[PATH_MAX];
	char *report;

	snprintf(path, sizeof(path), REPORT "%d", pid);
	report = ctl_read_file(path);
	ASSERT_NE(report, NULL);
	EXPECT_TRUE(ctl_is_massif_file(report));
	EXPECT_NE(strstr(report, "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc.\n"),
		  NULL);
	EXPECT_EQ(strstr(report, "[lost]"), NULL);
	free(report);
}

/*
 * Runs the program. For each of its @n_profiles profiles, massif-ctl's mappings must equal the kernel's when the
 * process ends. During the run, they must be equal in at least @n_moments comparisons, counted over all profiles.
 */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(programs) * self,
		  const char *in, size_t n_profiles, size_t n_moments)
{
	int status = trace_run(self->argv, in, OUT, DUMP, &self->real);
	size_t ends = 0, moments = 0;
	char name[256];

	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(WEXITSTATUS(status), 0);
	ASSERT_EQ(trace_read_dump(DUMP, &self->model), 0);
	EXPECT_EQ(ctl_find_files(REPORT, name), n_profiles);
	for (size_t i = 0; i < self->model.n_maps; i++) {
		const struct trace_maps *model = &self->model.maps[i];
		const struct trace_maps *real =
			trace_find(&self->real, model->pid, model->moment);

		/*
		 * Only one process is stopped at any one moment. The other processes keep running, so their dumps
		 * cannot be compared with the kernel's mappings.
		 */
		if (model->moment && !real)
			continue;
		check_maps(_metadata, model, real);
		if (model->moment) {
			moments++;
			continue;
		}
		TH_LOG("process %d: %" PRIu64 " pages, %zu intervals", model->pid,
		       model->model_pages, model->n_ranges);
		check_report(_metadata, model->pid);
		ends++;
	}
	TH_LOG("%s: equal at %zu moments and %zu ends", self->argv[6], moments, ends);
	EXPECT_EQ(ends, n_profiles);
	EXPECT_GE(moments, n_moments);
	/* Every requested dump was written, except for processes that are not profiled. */
	for (size_t i = 0; i < self->real.n_maps; i++) {
		const struct trace_maps *real = &self->real.maps[i];

		if (real->moment && trace_find(&self->model, real->pid, 0))
			EXPECT_NE(trace_find(&self->model, real->pid, real->moment), NULL);
	}
}

static void expect_output(struct __test_metadata *_metadata, const char *expected)
{
	char *out = ctl_read_file(OUT);

	ASSERT_NE(out, NULL);
	EXPECT_STREQ(out, expected);
	free(out);
}

TEST_F_TIMEOUT(programs, bin_true, 60)
{
	add(self, "/bin/true");
	check(_metadata, self, NULL, 1, 1);
}

TEST_F_TIMEOUT(programs, four_threads, 120)
{
	char name[256];
	struct pages_tree tree;

	add(self, ctl_target("pages_threads"));
	check(_metadata, self, NULL, 1, 2);
	expect_output(_metadata, "done\n");
	ASSERT_EQ(ctl_find_files(REPORT, name), 1);
	EXPECT_EQ(pages_tree_read(name, &tree), 0);
}

/* The shell forks twice: once for the subshell in parentheses, which does not call exec, and once for ls. */
TEST_F_TIMEOUT(programs, a_forking_shell, 120)
{
	add(self, "bash");
	add(self, "-c");
	add(self, "(read -r x < /proc/self/comm; echo $x); ls /bin/true; echo end");
	check(_metadata, self, NULL, 2, 3);
	expect_output(_metadata, "bash\n/bin/true\nend\n");
}

/* Debian programs, each with a command line and preparations that fit into one table row. */
FIXTURE(debian)
{
	FIXTURE_DATA(programs) programs;
};

FIXTURE_VARIANT(debian)
{
	const char *argv[10];
	const char *output;	/* expected output; NULL: anything */
	const char *before;	/* shell command that prepares the run, or starts a peer for the program to talk to */
	/* true if the shell command @before creates a file that becomes the program's standard input */
	bool input;
	size_t n_profiles;
	bool under_main;	/* nearly all memory that the program itself maps is below main in the tree */
};

FIXTURE_SETUP(debian)
{
	programs_setup(_metadata, &self->programs, NULL);
}

FIXTURE_TEARDOWN(debian)
{
	programs_teardown(_metadata, &self->programs, NULL);
}

#define LINES "seq -f 'line %.0f of many' 1 20000"

FIXTURE_VARIANT_ADD(debian, python3) {
	.argv = { "python3", "-c", python },
	.output = "20000\n",
	.n_profiles = 1,
	.under_main = true,
};
FIXTURE_VARIANT_ADD(debian, sqlite3) {
	.argv = { "sqlite3", ":memory:",
		  "create table t(a integer primary key, b);"
		  "with recursive c(x) as (select 1 union all select x+1 from c where x<20000)"
		  "insert into t select x, hex(x)||'abcdefghijklmnop' from c;"
		  "create index i on t(b); select count(*) from t;" },
	.output = "20000\n",
	.n_profiles = 1,
};
FIXTURE_VARIANT_ADD(debian, perl) {
	.argv = { "perl", "-e", "my %h; $h{$_} = 'x' x ($_ % 90) for 1..20000; print scalar keys %h" },
	.output = "20000",
	.n_profiles = 1,
};
FIXTURE_VARIANT_ADD(debian, git) {
	.argv = { "git", "-C", "tree", "-c", "core.pager=cat", "log", "-p", "--stat" },
	.before = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
		  "GIT_COMMITTER_EMAIL=a@b; rm -rf tree; git init -q tree && cd tree && "
		  LINES " > file && git add file && git commit -qm one && "
		  "sed -i 's/7/seven/' file && git commit -qam two",
	.n_profiles = 1,
};
/* The three profiles are of the driver, the compiler and the assembler. */
FIXTURE_VARIANT_ADD(debian, gcc) {
	.argv = { "--trace-children=yes", "gcc", "-O2", "-c", "-o", "out.o", "in.c" },
	.before = "for i in $(seq 60); do echo \"int f$i(int a) { int s = 0; for (int i = 0; i < a; i++) "
		  "s += i * a % (i + $i); return s; }\"; done > in.c",
	.output = "",
	.n_profiles = 3,
};
FIXTURE_VARIANT_ADD(debian, bash) {
	.argv = { "bash", "-c", "for ((i = 0; i < 5000; i++)); do a[i]=$i$i; done; x=$(echo ${#a[@]}); "
		  "echo $x; echo {1..2000} | { read -r y; echo ${#y}; }" },
	.output = "5000\n8892\n",
	.n_profiles = 4,
};
FIXTURE_VARIANT_ADD(debian, redis_server) {
	.argv = { "redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "" },
	.before = "rm -f redis.sock; { call() { redis-cli -s redis.sock \"$@\" > call.out; }; "
		     "until [ -S redis.sock ] && call ping; do sleep 0.1; done; "
		     "call eval \"for i=1,20000 do redis.call('set', i, string.rep('x', 50)) end\" 0; "
		     "call bgsave; call flushall; call shutdown nosave; } > /dev/null 2>&1 &",
	.n_profiles = 2,
};
FIXTURE_VARIANT_ADD(debian, xmllint) {
	.argv = { "xmllint", "--format", "--output", "out.xml", "in.xml" },
	.before = "{ echo '<a>'; seq -f '<b n=\"%.0f\"><c>text</c></b>' 1 8000; echo '</a>'; } > in.xml",
	.output = "",
	.n_profiles = 1,
};
FIXTURE_VARIANT_ADD(debian, static_busybox) {
	.argv = { "/bin/busybox", "awk", "{ n[$2] = $0 } END { for (i in n) c++; print c }" },
	.before = LINES " > " INPUT,
	.input = true,
	.output = "20000\n",
	.n_profiles = 1,
};
FIXTURE_VARIANT_ADD(debian, go) {
	.argv = { "fzf", "--filter=1999 many" },
	.before = LINES " > " INPUT,
	.input = true,
	.n_profiles = 1,
};

/*
 * Checks that memory mapped at exec or by ld.so is shown separately, and that at least 95 % of all other memory has
 * stacks that reach main, which shows that stacks are complete.
 */
static void check_tree(struct __test_metadata *_metadata)
{
	struct pages_tree tree;
	uint64_t later;
	char name[256];

	ASSERT_EQ(ctl_find_files(REPORT, name), 1);
	ASSERT_EQ(pages_tree_read(name, &tree), 0);
	EXPECT_STREQ(tree.root, " (page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc.");
	later = tree.total - tree.exec - tree.loader;
	TH_LOG("of %" PRIu64 " bytes: exec %" PRIu64 ", ld.so %" PRIu64 ", main %" PRIu64
	       ", other %" PRIu64 " (most: %s)",
	       tree.total, tree.exec, tree.loader, tree.in_main, tree.other, tree.worst);
	EXPECT_EQ(tree.in_main + tree.other, later);
	EXPECT_GT(later, 1000000);
	EXPECT_GE(tree.in_main * 100, later * 95);
}

TEST_F_TIMEOUT(debian, equals_maps, 240)
{
	if (variant->before)
		ASSERT_EQ(system(variant->before), 0);
	for (int i = 0; variant->argv[i]; i++)
		add(&self->programs, variant->argv[i]);
	check(_metadata, &self->programs, variant->input ? INPUT : NULL, variant->n_profiles, 3);
	if (variant->output)
		expect_output(_metadata, variant->output);
	if (variant->under_main)
		check_tree(_metadata);
}

FIXTURE(torture)
{
	FIXTURE_DATA(programs) programs;
};

FIXTURE_VARIANT(torture)
{
	const char *words[4];
	size_t n_profiles;
};

FIXTURE_VARIANT_ADD(torture, alone){{"11", "800"}, 1};
FIXTURE_VARIANT_ADD(torture, threads){{"13", "300", "threads=3"}, 1};
FIXTURE_VARIANT_ADD(torture, fork){{"14", "400", "fork"}, 2};
FIXTURE_VARIANT_ADD(torture, vfork){{"15", "300", "vfork"}, 1};
FIXTURE_VARIANT_ADD(torture, eight_threads){{"16", "200", "threads=8"}, 1};

FIXTURE_SETUP(torture)
{
	programs_setup(_metadata, &self->programs, NULL);
}

FIXTURE_TEARDOWN(torture)
{
	programs_teardown(_metadata, &self->programs, NULL);
}

TEST_F_TIMEOUT(torture, equals_maps, 240)
{
	add(&self->programs, ctl_target("torture"));
	for (int i = 0; i < 4 && variant->words[i]; i++)
		add(&self->programs, variant->words[i]);
	check(_metadata, &self->programs, NULL, variant->n_profiles, 3);
}

TEST_HARNESS_MAIN
