// SPDX-License-Identifier: GPL-2.0
// massif-ctl --pages-as-heap on real programs: in the end the model's mappings are /proc/PID/maps.

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

/* On one line: a newline in cmd is no ms_print's. */
static const char python[] = "import json;"
			     "d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)};"
			     "s = json.dumps(d);"
			     "print(len(json.loads(s)))";

static const char sql[] =
	"create table t(a integer primary key, b);"
	"with recursive c(x) as (select 1 union all select x+1 from c where x<20000)"
	"insert into t select x, hex(x)||'abcdefghijklmnop' from c;"
	"create index i on t(b); select count(*) from t;";

FIXTURE(programs)
{
	struct trace_set real, model;
	char *argv[16];
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

/* Runs it; afterwards each of @n_profiles profiles has been held against the kernel's truth. */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(programs) * self,
		  size_t n_profiles)
{
	int status = trace_run(self->argv, OUT, &self->real);
	char name[256];

	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(WEXITSTATUS(status), 0);
	ASSERT_EQ(trace_read_dump(DUMP, &self->model), 0);
	EXPECT_EQ(self->model.n_maps, n_profiles);
	EXPECT_EQ(ctl_find_files(REPORT, name), n_profiles);
	for (size_t i = 0; i < self->model.n_maps; i++) {
		const struct trace_maps *model = &self->model.maps[i];
		const struct trace_maps *real = trace_find(&self->real, model->pid);
		char path[PATH_MAX];
		char *report;

		TH_LOG("%s, process %d: %" PRIu64 " pages, %zu intervals", self->argv[6],
		       model->pid, model->model_pages, model->n_ranges);
		ASSERT_NE(real, NULL);
		EXPECT_EQ(model->model_pages, model->kernel_pages);
		EXPECT_EQ(model->model_pages, real->pages);
		EXPECT_EQ(model->lost, 0);
		EXPECT_EQ(model->mismatches, 0);
		EXPECT_GT(model->n_ranges, 3);
		EXPECT_TRUE(trace_maps_equal(model, real));

		snprintf(path, sizeof(path), REPORT "%d", model->pid);
		report = ctl_read_file(path);
		ASSERT_NE(report, NULL);
		EXPECT_TRUE(ctl_is_massif_file(report));
		EXPECT_NE(strstr(report, "(page allocation syscalls) mmap/mremap/brk, "
					 "--alloc-fns, etc.\n"),
			  NULL);
		EXPECT_EQ(strstr(report, "[lost]"), NULL);
		free(report);
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
	check(_metadata, self, 1);
}

TEST_F_TIMEOUT(programs, python3, 120)
{
	struct pages_tree tree;
	uint64_t later;
	char name[256];

	add(self, "python3");
	add(self, "-c");
	add(self, python);
	check(_metadata, self, 1);
	expect_output(_metadata, "20000\n");

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

TEST_F_TIMEOUT(programs, sqlite3, 120)
{
	add(self, "sqlite3");
	add(self, ":memory:");
	add(self, sql);
	check(_metadata, self, 1);
	expect_output(_metadata, "20000\n");
}

TEST_F_TIMEOUT(programs, four_threads, 120)
{
	char name[256];
	struct pages_tree tree;

	add(self, ctl_target("pages_threads"));
	check(_metadata, self, 1);
	expect_output(_metadata, "done\n");
	ASSERT_EQ(ctl_find_files(REPORT, name), 1);
	EXPECT_EQ(pages_tree_read(name, &tree), 0);
}

/* A shell forks for the parentheses, which remain a shell, and for ls, which does not. */
TEST_F_TIMEOUT(programs, a_forking_shell, 120)
{
	add(self, "bash");
	add(self, "-c");
	add(self, "(read -r x < /proc/self/comm; echo $x); ls /bin/true; echo end");
	check(_metadata, self, 2);
	expect_output(_metadata, "bash\n/bin/true\nend\n");
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

FIXTURE_VARIANT_ADD(torture, alone){{"11", "1500"}, 1};
FIXTURE_VARIANT_ADD(torture, another_seed){{"12", "1500"}, 1};
FIXTURE_VARIANT_ADD(torture, threads){{"13", "600", "threads"}, 1};
FIXTURE_VARIANT_ADD(torture, fork){{"14", "800", "fork"}, 2};
FIXTURE_VARIANT_ADD(torture, vfork){{"15", "500", "vfork"}, 1};

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
	check(_metadata, &self->programs, variant->n_profiles);
}

TEST_HARNESS_MAIN
