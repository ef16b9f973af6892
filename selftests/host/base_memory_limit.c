// SPDX-License-Identifier: GPL-2.0
// The memory limit of cgroups, in hierarchies made of ordinary files.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/memory_limit.h"
#include "selftests/lib/ctl_run.h"

#define MOUNT "cgroup.mount"

/* The files of a hierarchy, each with its text. */
struct file {
	const char *path, *text;
};

static const struct {
	const char *what, *list;
	struct file files[4];
	uint64_t limit;
} cases[] = {
	{ "no files", "0::/a/b\n", { { 0 } }, UINT64_MAX },
	{ "no list", "", { { "/a/memory.max", "1000\n" } }, UINT64_MAX },
	{ "a limit", "0::/a/b\n", { { "/a/b/memory.max", "123456789\n" } }, 123456789 },
	{ "no limit", "0::/a/b\n", { { "/a/b/memory.max", "max\n" } }, UINT64_MAX },
	{ "a lower limit above", "0::/a/b\n", { { "/a/b/memory.max", "5000\n" }, { "/a/memory.max", "4000\n" } }, 4000 },
	{ "a higher limit above", "0::/a/b\n", { { "/a/b/memory.max", "5000\n" }, { "/a/memory.max", "6000\n" } }, 5000 },
	{ "no limit but above", "0::/a/b\n", { { "/a/b/memory.max", "max\n" }, { "/a/memory.max", "6000\n" } }, 6000 },
	{ "the root of a namespace", "0::/\n", { { "/memory.max", "7000\n" } }, 7000 },
	{ "another cgroup", "0::/a/b\n", { { "/a/c/memory.max", "7000\n" } }, UINT64_MAX },
	{ "outside of the namespace", "0::/../a\n", { { "/a/memory.max", "7000\n" } }, UINT64_MAX },
	{ "the first version", "3:cpu:/x\n4:memory:/a\n0::/\n",
	  { { "/memory/a/memory.limit_in_bytes", "8000\n" }, { "/memory/memory.limit_in_bytes", "9223372036854771712\n" } },
	  8000 },
	{ "with another controller", "4:hugetlb,memory,pids:/a\n", { { "/memory/a/memory.limit_in_bytes", "8000\n" } }, 8000 },
	{ "a similar controller", "4:memory2:/a\n", { { "/memory/a/memory.limit_in_bytes", "8000\n" } }, UINT64_MAX },
	{ "both versions", "4:memory:/a\n0::/b\n",
	  { { "/memory/a/memory.limit_in_bytes", "8000\n" }, { "/unified/b/memory.max", "700\n" } }, 700 },
	{ "no number", "0::/a\n", { { "/a/memory.max", "-5\n" } }, UINT64_MAX },
	{ "more than a number", "0::/a\n", { { "/a/memory.max", "5K\n" } }, UINT64_MAX },
	{ "too large a number", "0::/a\n", { { "/a/memory.max", "18446744073709551616\n" } }, UINT64_MAX },
	{ "an empty file", "0::/a\n", { { "/a/memory.max", "" } }, UINT64_MAX },
	{ "lines of another kind", "x\n:\n0:\n0::/a", { { "/a/memory.max", "10\n" } }, 10 },
};

static void remove_all(void)
{
	if (system("rm -rf " MOUNT " cgroup.list"))
		abort();
}

static void make(const struct file *file)
{
	char command[256], path[128];

	snprintf(path, sizeof(path), MOUNT "%s", file->path);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path);
	if (system(command))
		abort();
	ctl_write_file(path, file->text, 0644);
}

TEST(of_cgroups)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		remove_all();
		ctl_write_file("cgroup.list", cases[i].list, 0644);
		for (size_t k = 0; k < 4 && cases[i].files[k].path; k++)
			make(&cases[i].files[k]);
		EXPECT_EQ(cases[i].limit, mf_memory_limit_of_cgroups("cgroup.list", MOUNT)) {
			TH_LOG("%s", cases[i].what);
		}
	}
	remove_all();
	EXPECT_EQ(UINT64_MAX, mf_memory_limit_of_cgroups("cgroup.list", MOUNT));
}

static void write_deep_list(int depth)
{
	FILE *out = fopen("cgroup.list", "we");

	if (!out)
		abort();
	fputs("0::", out);
	for (int i = 0; i < depth; i++)
		fputs("/x", out);
	putc('\n', out);
	fclose(out);
}

/* PATH_MAX is 4096, with the NUL. */
TEST(of_a_deep_cgroup)
{
	static const struct {
		int depth;
		uint64_t limit;
	} depths[] = { { 2, 99 }, { 2047, 99 }, { 2048, UINT64_MAX }, { 20480, UINT64_MAX }, { 1000000, UINT64_MAX } };

	make(&(struct file){ "/x/x/memory.max", "99\n" });
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		write_deep_list(depths[i].depth);
		EXPECT_EQ(depths[i].limit, mf_memory_limit_of_cgroups("cgroup.list", MOUNT)) {
			TH_LOG("%d", depths[i].depth);
		}
	}
	remove_all();
}

/* Half of the memory at most, and a limit that is lower stays. */
TEST(of_this_process)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t cgroup = mf_memory_limit_of_cgroups("/proc/self/cgroup", "/sys/fs/cgroup") / 2;
	struct rlimit limit;

	half = cgroup < half ? cgroup : half;
	mf_memory_limit();
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &limit));
	EXPECT_EQ(half > 128u << 20 ? half : 128u << 20, limit.rlim_cur);
	limit.rlim_cur = 300u << 20;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	mf_memory_limit();
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &limit));
	EXPECT_EQ(300u << 20, limit.rlim_cur);
}

TEST_HARNESS_MAIN
