// SPDX-License-Identifier: GPL-2.0
// Each stack of these programs equals a fresh walk by libunwind, provided that unwind tables exist for it.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define PYTHON_SCRIPT                                                                        \
	"import json, re, sqlite3, threading\n"                                              \
	"d = [{'a': i, 'b': [str(j) for j in range(5)]} for i in range(200)]\n"              \
	"s = json.dumps(d)\n"                                                                \
	"c = sqlite3.connect(':memory:')\n"                                                  \
	"c.execute('create table t(a, b)')\n"                                                \
	"c.executemany('insert into t values (?, ?)', [(i, str(i)) for i in range(300)])\n"  \
	"c.execute('select * from t order by b').fetchall()\n"                               \
	"re.findall('[a-z]+', s)\n"                                                          \
	"f = lambda n: [f(n - 1)] if n else []\n"                                            \
	"f(60)\n"                                                                            \
	"g = lambda: [json.loads(s) for _ in range(5)]\n"                                    \
	"t = [threading.Thread(target=g) for _ in range(3)]\n"                               \
	"[x.start() for x in t]\n"                                                           \
	"[x.join() for x in t]\n"

#define SQL                                                                  \
	"create table t(a, b); with recursive c(x) as (select 1 union all " \
	"select x + 1 from c where x < 2000) insert into t select x, "      \
	"'text number ' || x from c; create index i on t(b); "              \
	"select count(*), max(b) from t where b like '%1%';"

#define PERL_SCRIPT                                                  \
	"my %h; $h{$_} = [$_, 'x' x ($_ % 50)] for 1..2000; "        \
	"my @k = sort { $a cmp $b } keys %h; print scalar(@k), qq(\\n)"

#define COMPILE                                                       \
	"echo '#include <stdio.h>\nint main(void) { return printf(\"x\"); }' > verify.c && " \
	"gcc -E verify.c -o verify.i"

#define JSON \
	"python3 -c 'import json; print(json.dumps([{\"n\": i, \"t\": [str(i), {}]} for i in range(300)]))' " \
	"> verify.json"

#define XML \
	"python3 -c 'print(\"<list>\" + \"<item id=\\\"x\\\">text<b/></item>\" * 300 + \"</list>\")' " \
	"> verify.xml"

/* Creates a repository with several commits to one file. */
#define HISTORY                                                                                     \
	"rm -rf verify.git && git init -q verify.git && cd verify.git && "                          \
	"git config user.name tester && git config user.email tester@example.org && "               \
	"for i in $(seq 8); do seq $i 3 900 > lines && git add lines && git commit -qm \"commit $i\" || exit 1; done"

FIXTURE(verify) {
	struct ctl_result result;
};

FIXTURE_SETUP(verify)
{
	setenv("MASSIF_VERIFY", "1", 1);
	setenv("PYTHONMALLOC", "malloc", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	unsetenv("PYTHONPATH");
}

FIXTURE_TEARDOWN(verify)
{
	ctl_remove_files("massif.out");
	EXPECT_EQ(0, system("rm -rf verify.git"));
	ctl_remove_files("verify.");
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(verify) {
	const char *argv[8];
	/*
	 * the program to run, from selftests/targets; if NULL, run @bench if set, otherwise cc1 if @compiler is set,
	 * otherwise argv[0]
	 */
	const char *target;
	const char *bench;   /* the benchmark program to run */
	bool compiler;	     /* true to run gcc's compiler proper, cc1 */
	const char *prepare; /* a shell command to run before massif-ctl; NULL: none */
	const char *option;  /* an option for massif-ctl */
	int status;	     /* expected exit status */
	uint64_t least;	     /* minimum number of stacks to be verified */
};

FIXTURE_VARIANT_ADD(verify, python3) {
	.argv = { "/usr/bin/python3", "-c", PYTHON_SCRIPT }, .least = 50000,
};
FIXTURE_VARIANT_ADD(verify, sqlite3) {
	.argv = { "/usr/bin/sqlite3", ":memory:", SQL }, .least = 3000,
};
FIXTURE_VARIANT_ADD(verify, perl) {
	.argv = { "/usr/bin/perl", "-e", PERL_SCRIPT }, .least = 5000,
};
FIXTURE_VARIANT_ADD(verify, git) {
	.argv = { "/usr/bin/git", "-c", "help.autocorrect=0", "config", "--list" }, .least = 20,
};
FIXTURE_VARIANT_ADD(verify, git_log) {
	.prepare = HISTORY, .argv = { "/usr/bin/git", "-C", "verify.git", "log", "-p" }, .least = 500,
};
FIXTURE_VARIANT_ADD(verify, cc1) {
	.prepare = COMPILE, .compiler = true,
	.argv = { "", "-quiet", "-O2", "verify.i", "-o", "verify.s" }, .least = 5000,
};
FIXTURE_VARIANT_ADD(verify, jq) {
	.prepare = JSON, .argv = { "/usr/bin/jq", "-c", "group_by(.n % 7) | map(length)", "verify.json" },
	.least = 2000,
};
FIXTURE_VARIANT_ADD(verify, xmllint) {
	.prepare = XML, .argv = { "/usr/bin/xmllint", "--noout", "--repeat", "verify.xml" }, .least = 20000,
};
FIXTURE_VARIANT_ADD(verify, churn) {
	.bench = "churn", .argv = { "", "1" }, .least = 50000,
};
FIXTURE_VARIANT_ADD(verify, deep) {
	.bench = "deep", .argv = { "", "5000" }, .least = 5000,
};
FIXTURE_VARIANT_ADD(verify, mt) {
	.bench = "mt", .argv = { "", "2", "10000" }, .least = 20000,
};
FIXTURE_VARIANT_ADD(verify, tree) {
	.bench = "tree", .argv = { "", "5", "3" }, .least = 9000,
};
FIXTURE_VARIANT_ADD(verify, exc) {
	.bench = "exc", .argv = { "", "500" }, .least = 500,
};
FIXTURE_VARIANT_ADD(verify, map) {
	.target = "heap_map", .argv = { "" }, .status = 3, .least = 10000,
};
FIXTURE_VARIANT_ADD(verify, stacks) {
	.target = "heap_stacks", .argv = { "", "300" }, .least = 10000,
};
/*
 * A coroutine with a split stack: each walk leads from the innermost piece of the stack through the other pieces to the
 * outermost frame, which makecontext() set up on the first piece.
 */
FIXTURE_VARIANT_ADD(verify, split_stack) {
	.target = "heap_split_stack", .argv = { "", "40" }, .least = 2000,
};
/* The executable's unwind rules have no index, and its functions have no frame pointers. */
FIXTURE_VARIANT_ADD(verify, stacks_without_index) {
	.target = "heap_no_index", .argv = { "", "100" }, .least = 3000,
};
FIXTURE_VARIANT_ADD(verify, stacks_cut_short) {
	.target = "heap_stacks", .argv = { "", "100" }, .option = "--depth=1", .least = 3000,
};
/*
 * The call stacks contain generated code without unwind tables. libunwind alone would find wrong callers of this code.
 */
FIXTURE_VARIANT_ADD(verify, links) {
	.target = "heap_links", .argv = { "" }, .least = 1000,
};
FIXTURE_VARIANT_ADD(verify, links_cut_short) {
	.target = "heap_links", .argv = { "" }, .option = "--depth=1", .least = 1000,
};
FIXTURE_VARIANT_ADD(verify, storm) {
	.target = "heap_storm", .argv = { "", "4", "2000" }, .least = 4000,
};

/* Situations in which libunwind could cause damage, or in which an option changes the stacks. */
FIXTURE_VARIANT_ADD(verify, timer) {
	.target = "heap_verify_where", .argv = { "", "timer" }, .least = 2000,
};
FIXTURE_VARIANT_ADD(verify, small_stacks) {
	.target = "heap_verify_where", .argv = { "", "small" }, .least = 2000,
};
FIXTURE_VARIANT_ADD(verify, small_coroutine) {
	.target = "heap_small_stacks", .argv = { "" }, .least = 50000,
};
FIXTURE_VARIANT_ADD(verify, sandbox) {
	.target = "heap_verify_where", .argv = { "", "sandbox" }, .least = 200,
};
FIXTURE_VARIANT_ADD(verify, descriptors_closed) {
	.target = "heap_verify_where", .argv = { "", "closed" }, .least = 200,
};
FIXTURE_VARIANT_ADD(verify, no_descriptors) {
	.target = "heap_verify_where", .argv = { "", "none" }, .least = 200,
};
FIXTURE_VARIANT_ADD(verify, name_space) {
	.target = "heap_verify_where", .argv = { "", "name_space" }, .least = 200,
};
FIXTURE_VARIANT_ADD(verify, merged_by_one) {
	.target = "heap_verify_where", .argv = { "", "recursive" }, .option = "--merge-recursive-frames=1",
	.least = 3000,
};
FIXTURE_VARIANT_ADD(verify, merged_by_two) {
	.target = "heap_verify_where", .argv = { "", "recursive" }, .option = "--merge-recursive-frames=2",
	.least = 3000,
};
FIXTURE_VARIANT_ADD(verify, merged_by_forty) {
	.target = "heap_verify_where", .argv = { "", "recursive" }, .option = "--merge-recursive-frames=40",
	.least = 3000,
};
FIXTURE_VARIANT_ADD(verify, merged_stacks) {
	.target = "heap_stacks", .argv = { "", "300" }, .option = "--merge-recursive-frames=3", .least = 10000,
};

/* Returns the path of a benchmark program, in static storage. */
static const char *find_bench(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/selftests/bench/%s", getenv("MASSIF_BUILD") ?: "build", name);
	return path;
}

/* Returns the path of the compiler proper, in static storage. */
static const char *find_compiler(void)
{
	static char path[4096];
	FILE *answer = popen("gcc -print-prog-name=cc1", "r");

	if (!answer || !fgets(path, sizeof(path), answer))
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (answer)
		pclose(answer);
	return path;
}

TEST_F_TIMEOUT(verify, all_stacks, 200)
{
	uint64_t verified = 0, stacks, differ;
	const char *argv[16] = { "massif-ctl", "--massif-out-file=massif.out.verify" };
	const char *program, *line;
	int n = 2;

	if (variant->prepare)
		ASSERT_EQ(0, system(variant->prepare));
	program = variant->target ? ctl_target(variant->target) :
		  variant->bench ? find_bench(variant->bench) :
		  variant->compiler ? find_compiler() : variant->argv[0];
	if (access(program, X_OK))
		SKIP(return, "the program is not installed");
	if (variant->option)
		argv[n++] = variant->option;
	argv[n++] = program;
	for (int i = 1; variant->argv[i]; i++)
		argv[n++] = variant->argv[i];
	ctl_run(&self->result, NULL, NULL, argv);
	EXPECT_EQ(variant->status, ctl_exit_code(&self->result));
	/* The program and each process that it forked print a line about their verified stacks. */
	for (line = self->result.err; (line = strstr(line, "verified ")); line++) {
		ASSERT_EQ(2, sscanf(line, "verified %" SCNu64 " stacks with libunwind, %" SCNu64
				    " differ", &stacks, &differ));
		EXPECT_EQ(0, differ)
		{
			TH_LOG("%s", line);
		}
		verified += stacks;
	}
	EXPECT_LE(variant->least, verified);
	TH_LOG("%" PRIu64 " stacks verified", verified);
}

TEST_HARNESS_MAIN
