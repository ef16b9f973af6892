// SPDX-License-Identifier: GPL-2.0
// massif-ctl top without a screen: its figures, its options, and what it makes of answers that are none.

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/live_run.h"
#include "selftests/lib/refuse_call.h"
#include "ctl/control/client.h"
#include "ctl/control/server.h"
#include "ctl/control/watch.h"
#include "ctl/live/graph.h"
#include "ctl/live/namer.h"
#include "ctl/live/reader.h"
#include "ctl/live/saver.h"
#include "ctl/live/screen.h"
#include "ctl/live/table.h"
#include "ctl/live/view.h"
#include "model/model.h"
#include "model/tally.h"
#include "model/trie.h"

/* On a busy machine, what usually takes seconds can take minutes. */
#define SECONDS 600

FIXTURE(top) {
	struct ctl_result result;
	struct live_run run;
};

FIXTURE_SETUP(top)
{
	ASSERT_TRUE(live_be_alone());
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

FIXTURE_TEARDOWN(top)
{
	live_stop(&self->run);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

#define START(...) \
	ASSERT_TRUE(live_start(&self->run, NULL, (const char *const[]){ "massif-ctl", "-q", __VA_ARGS__, NULL }))

#define TOP(...) do {							\
	ctl_result_free(&self->result);					\
	CTL_RUN(&self->result, "massif-ctl", "top", __VA_ARGS__);	\
} while (0)

#define EXPECT_SAYS(words) do {						\
	EXPECT_NE(NULL, strstr(self->result.out, words)) {		\
		TH_LOG("%s%s", self->result.out, self->result.err);	\
	}								\
} while (0)

#define EXPECT_FAILS(words) do {					\
	EXPECT_EQ(1, ctl_exit_code(&self->result));			\
	EXPECT_NE(NULL, strstr(self->result.err, words)) {		\
		TH_LOG("%s", self->result.err);				\
	}								\
} while (0)

/* Finds the line about @site, and reads its numbers. */
static bool read_site(const char *text, const char *site, unsigned long *held, unsigned long *allocations)
{
	const char *at = strstr(text, site);
	double growth, rate, share;

	while (at && at > text && at[-1] != '\n')
		at--;
	return at && sscanf(at, "%lu %lf%% %lf %lf %lu", held, &share, &growth, &rate, allocations) == 5;
}

/* An idle program: every figure equals that of a snapshot. */
TEST_F_TIMEOUT(top, figures_are_those_of_a_snapshot, SECONDS)
{
	unsigned long held, allocations, heap;
	char *text;

	START(ctl_target("ctl_live"));
	for (int i = 0; i < 3; i++)
		live_grow(&self->run);
	TOP("--once");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	EXPECT_SAYS("\nmode         heap\nstate        running\n");
	ASSERT_TRUE(read_site(self->result.out, "  hold (ctl_live.c:", &held, &allocations));
	EXPECT_EQ(1000000, held);
	EXPECT_EQ(1000, allocations);
	ASSERT_TRUE(read_site(self->result.out, "  grow (ctl_live.c:", &held, &allocations));
	EXPECT_EQ(300000, held);
	EXPECT_EQ(300, allocations);
	ASSERT_TRUE(read_site(self->result.out, "  churn (ctl_live.c:", &held, &allocations));
	EXPECT_EQ(0, held);
	EXPECT_EQ(15000, allocations);
	EXPECT_SAYS("\nallocations  16300 (2260000 B), ");
	heap = ctl_number(self->result.out, "(useful ");
	EXPECT_EQ(1300000, heap);
	CTL_RUN(&self->result, "massif-ctl", "detailed_snapshot", "c.snapshot");
	text = ctl_read_file("c.snapshot");
	ASSERT_NE(NULL, text);
	EXPECT_EQ(heap, ctl_number(text, "mem_heap_B="));
	free(text);
}

/* What is freed leaves the peak behind. Rates are those of the time between two updates. */
TEST_F_TIMEOUT(top, rates_and_the_peak, SECONDS)
{
	const char *second;
	char line[64];
	int status, ends[2];
	pid_t top;

	START(ctl_target("ctl_live"));
	for (int i = 0; i < 2; i++) {
		live_grow(&self->run);
		live_shrink(&self->run);
	}
	TOP("--once", "--by=function", "--sort=held");
	EXPECT_SAYS("  hold\n");
	EXPECT_SAYS("\nlive         1016000 B (useful 1000000, extra 16000, stacks 0)");
	EXPECT_LE(1117600, ctl_number(self->result.out, "\npeak         "));

	ASSERT_EQ(0, pipe(ends));
	top = fork();
	if (!top) {
		dup2(ends[1], 1);
		execl(ctl_path(), "massif-ctl", "top", "-n", "2", "-d", "2", "--sort", "growth", "--filter=^grow", NULL);
		_exit(99);
	}
	close(ends[1]);
	ASSERT_LT(0, read(ends[0], line, sizeof(line)));
	live_grow(&self->run);
	waitpid(top, &status, 0);
	EXPECT_EQ(0, status);
	self->result.out = calloc(1, 100000);
	ASSERT_LT(0, read(ends[0], self->result.out, 99999));
	close(ends[0]);
	second = strstr(self->result.out, "\nprogram ");
	ASSERT_NE(NULL, second);
	/* 101600 bytes and 5100 blocks in two seconds; more time can have passed. */
	EXPECT_GE(50800, ctl_number(second, "stacks 0), +"));
	EXPECT_LE(1000, ctl_number(second, "stacks 0), +"));
	EXPECT_NE(NULL, strstr(second, "  grow (ctl_live.c:"));
	EXPECT_EQ(NULL, strstr(second, "hold"));
	EXPECT_GE(2550, ctl_number(second, "(2260000 B), "));
	EXPECT_LE(100, ctl_number(second, "(2260000 B), "));
}

/* The code that called the library is found behind more calls of the library than are looked up for most stacks. */
TEST_F_TIMEOUT(top, call_behind_the_library, SECONDS)
{
	unsigned long held, allocations, depth = 0;
	char *text;

	START(ctl_target("ctl_live_deep"));
	TOP("--once");
	EXPECT_TRUE(read_site(self->result.out, "  fill() (ctl_live_deep.cc:14)", &held, &allocations)) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_EQ(1000000, held);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "detailed_snapshot", "c.snapshot");
	text = ctl_read_file("c.snapshot");
	ASSERT_NE(NULL, text);
	for (const char *at = text; (at = strstr(at, "n1: 1000000 ")); at++)
		depth++;
	EXPECT_LE(4, depth) {
		TH_LOG("%s", text);
	}
	free(text);
}

TEST_F_TIMEOUT(top, ends_with_the_program, SECONDS)
{
	char name[256], line[1024], directory[256];
	int status;
	pid_t top;

	START(ctl_target("ctl_live"));
	top = fork();
	if (!top) {
		int fd = open("c.top", O_WRONLY | O_CREAT | O_TRUNC, 0666);

		dup2(fd, 1);
		execl(ctl_path(), "massif-ctl", "top", "-n", "1000", "-d", "0.2", NULL);
		_exit(99);
	}
	self->result.out = ctl_await_words("c.top", "\nstate        running\n");
	EXPECT_NE(NULL, self->result.out);
	free(self->result.out);
	kill(self->run.program, SIGTERM);
	waitpid(top, &status, 0);
	EXPECT_EQ(0, status);
	live_stop(&self->run);
	self->result.out = ctl_read_file("c.top");
	self->result.err = strdup("");
	ASSERT_EQ(1, ctl_find_files("massif.out.", name));
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	snprintf(line, sizeof(line), "\nstate        ended; wrote %s/%s\n", directory, name);
	EXPECT_SAYS(line);
	EXPECT_SAYS("\nstate        running\n");
}

/* A program that executes another has a new profile, and a child one of its own. */
TEST_F_TIMEOUT(top, follows_an_exec, SECONDS)
{
	char script[4096 + 64];

	snprintf(script, sizeof(script), "exec '%s'", ctl_target("ctl_live"));
	START("--trace-children=yes", "/bin/sh", "-c", script);
	TOP("--once", self->run.pid);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_SAYS("  hold (ctl_live.c:");
}

TEST_F_TIMEOUT(top, which_one, SECONDS)
{
	struct live_run first;
	char words[4096 + 64];

	TOP("--once");
	EXPECT_FAILS("massif-ctl: no profile of this user is running\n");
	START(ctl_target("ctl_live"), "1");
	first = self->run;
	START(ctl_target("ctl_live"), "2");
	TOP("--once");
	EXPECT_FAILS("2 profiles are running; choose one of\n");
	snprintf(words, sizeof(words), "\nmassif-ctl:   %s  %s 1\n", first.pid, ctl_target("ctl_live"));
	EXPECT_FAILS(words);
	TOP("--once", self->run.pid);
	EXPECT_SAYS("/ctl_live 2\n");
	TOP("--once", first.pid);
	EXPECT_SAYS("/ctl_live 1\n");
	live_stop(&first);
	TOP("--once", "1");
	EXPECT_FAILS("process 1 is not being profiled");
}

TEST_F_TIMEOUT(top, of_another_user, SECONDS)
{
	const char *top[] = { "massif-ctl", "top", "--once", NULL };

	CTL_NEEDS_USER(LIVE_NOBODY);
	START(ctl_target("ctl_live"));
	ctl_run(&self->result, NULL, live_become_nobody, top);
	EXPECT_FAILS("massif-ctl: no profile of this user is running\n");
}

/* Names are printed, not obeyed. */
TEST_F_TIMEOUT(top, hostile_command, SECONDS)
{
	START(ctl_target("ctl_live"), "\033]0;title\007\xc2\x9b" "31m", "\u202egnp.exe");
	TOP("--once");
	EXPECT_SAYS("/ctl_live ?]0;title??31m ");
	EXPECT_EQ(NULL, strpbrk(self->result.out, "\033\007"));
	EXPECT_EQ(NULL, strstr(self->result.out, "\xc2\x9b"));
}

/* Waits for the next news of a profile. */
static void await_news(struct mf_watch *watch, struct mf_watch_news *news)
{
	do {
		mf_watch_next(watch, news);
		usleep(1000);
	} while (news->kind == MF_WATCH_NOTHING);
}

/* What a client receives can be read, but not changed. */
TEST_F_TIMEOUT(top, memory_is_for_reading, SECONDS)
{
	struct mf_profiled_list list;
	struct mf_watch_news news;
	struct mf_watch watch;
	struct mf_error err;

	START(ctl_target("ctl_live"));
	ASSERT_EQ(0, mf_ask_list(&list, MF_ASK_PATIENCE_MS, &err));
	ASSERT_EQ(1, list.count);
	ASSERT_EQ(0, mf_watch_open(&watch, list.items[0].socket, self->run.program, &err));
	await_news(&watch, &news);
	ASSERT_EQ(MF_WATCH_SESSION, news.kind);
	EXPECT_EQ(self->run.program, news.pid);
	EXPECT_FALSE(news.pages);
	EXPECT_EQ(O_RDONLY, fcntl(news.memory, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, news.memory, 0));
	mf_watch_free(&news);
	/* One request, one answer. */
	mf_watch_ask(&watch);
	mf_watch_ask(&watch);
	await_news(&watch, &news);
	EXPECT_EQ(MF_WATCH_SESSION, news.kind);
	mf_watch_free(&news);
	sleep(1);
	mf_watch_next(&watch, &news);
	EXPECT_EQ(MF_WATCH_NOTHING, news.kind);
	mf_watch_close(&watch);
	mf_ask_free(&list);
}

TEST_F_TIMEOUT(top, bad_arguments, SECONDS)
{
	static const struct {
		const char *words[4], *message;
	} cases[] = {
		{ { "-n", "0" }, "-n 0: use a number from 1 to 1000000000" },
		{ { "-n", "-1" }, "-n -1: use" },
		{ { "-n", "x" }, "-n x: use" },
		{ { "-n", "1000000001" }, "-n 1000000001: use" },
		{ { "-n", "10000000000" }, "-n 10000000000: use" },
		{ { "-n" }, "-n needs a value" },
		{ { "-d", "0.09" }, "-d 0.09: use seconds from 0.1 to 3600" },
		{ { "-d", "3600.1" }, "-d 3600.1: use" },
		{ { "-d", "36000" }, "-d 36000: use" },
		{ { "-d", "" }, "-d : use" },
		{ { "-d", "nan" }, "-d nan: use" },
		{ { "-d", "1s" }, "-d 1s: use" },
		{ { "--top=0" }, "--top=0: use a number from 1 to 1000000" },
		{ { "--top=1000001" }, "--top=1000001: use" },
		{ { "--top=10000000" }, "--top=10000000: use" },
		{ { "--by=line" }, "--by=line: use one of site, function" },
		{ { "--sort=name" }, "--sort=name: use one of held, growth, allocations" },
		{ { "--filter=(" }, "filter '(': " },
		{ { "--filter=a", "--filter=b" }, "one --filter at a time" },
		{ { "--filter" }, "--filter needs a value" },
		{ { "--onc" }, "Unknown option: --onc" },
		{ { "-x" }, "Unknown option: -x" },
		{ { "x" }, "x: not a process id" },
		{ { "0" }, "0: not a process id" },
		{ { "2147483648" }, "2147483648: not a process id" },
		{ { "" }, "'': not a process id" },
		{ { "1", "2" }, "one process at a time: 1 or 2?" },
		{ { NULL }, "top needs a terminal; use --once or -n N" },
		{ { "-d", "2" }, "top needs a terminal" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TOP(cases[i].words[0], cases[i].words[1], cases[i].words[2]);
		EXPECT_FAILS(cases[i].message);
		EXPECT_STREQ("", self->result.out);
	}
	/* At the limits. */
	START(ctl_target("ctl_live"));
	TOP("--once", "--top=1000000", "-d", "3600");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	TOP("--once", "-d", "0.1", "--top=1");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	live_grow(&self->run);
	TOP("--once", "--top", "1", "--sort=allocations");
	EXPECT_SAYS("and 2 more\n");
}

TEST_F(top, length_of_a_filter)
{
	static const size_t lengths[] = { 255, 256, 2550 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *text = calloc(1, lengths[i] + 1);
		struct mf_error err;
		regex_t regex;

		ASSERT_NE(NULL, text);
		memset(text, 'a', lengths[i]);
		EXPECT_EQ(lengths[i] <= MF_SCREEN_FILTER_MAX ? 0 : -EINVAL, mf_screen_filter_compile(&regex, text, &err));
		if (lengths[i] <= MF_SCREEN_FILTER_MAX)
			regfree(&regex);
		free(text);
	}
}

/* The oldest totals go; the curve has as many as there is room for. */
TEST_F(top, length_of_the_curve)
{
	static const size_t numbers[] = { 1, MF_LIVE_HISTORY_MAX, MF_LIVE_HISTORY_MAX + 1, 10 * MF_LIVE_HISTORY_MAX };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_live_history *history = calloc(1, sizeof(*history));
		struct mf_live_graph graph = { .history = history, .columns = 1000, .rows = 1 };
		char row[MF_LIVE_GRAPH_BYTES(1000)];
		size_t shown = numbers[i] < MF_LIVE_HISTORY_MAX ? numbers[i] : MF_LIVE_HISTORY_MAX;

		ASSERT_NE(NULL, history);
		for (size_t n = 0; n < numbers[i]; n++)
			mf_live_history_add(history, (int64_t)n * 1000, n + 1);
		EXPECT_EQ((int64_t)(shown - 1) * 1000, mf_live_graph_span_ms(&graph));
		EXPECT_EQ(numbers[i], mf_live_graph_highest(&graph));
		mf_live_graph_row(&graph, 0, row);
		EXPECT_EQ(1000, strlen(row));
		EXPECT_EQ('#', row[999]);
		EXPECT_EQ(1000 - (shown + 1) / 2, strspn(row, " "));
		free(history);
	}
}

TEST_F(top, braille)
{
	struct mf_live_history history = { 0 };
	struct mf_live_graph graph = { .history = &history, .columns = 3, .rows = 2, .braille = true };
	char row[MF_LIVE_GRAPH_BYTES(3)];

	for (int i = 1; i <= 4; i++)
		mf_live_history_add(&history, i, (uint64_t)i * 2);
	mf_live_graph_row(&graph, 0, row);
	EXPECT_STREQ("  \u28fc", row);
	mf_live_graph_row(&graph, 1, row);
	EXPECT_STREQ(" \u28fc\u28ff", row);
	graph.braille = false;
	mf_live_graph_row(&graph, 0, row);
	EXPECT_STREQ("  #", row);
}

TEST_F(top, texts_that_are_too_long)
{
	static const struct {
		const char *text;
		bool utf8;
		size_t columns;
		const char *expected;
	} cases[] = {
		{ "abc", true, 3, "abc" },
		{ "abcd", true, 3, "ab~" },
		{ "abc", true, 1, "~" },
		{ "abc", true, 0, "" },
		{ "\u00e4\u00f6", true, 2, "\u00e4\u00f6" },
		{ "\u00e4", false, 5, "??" },
		{ "\u4e2d\u6587", true, 3, "\u4e2d~" },
		{ "a\xff\x80z", true, 9, "a??z" },
		{ "a\033[31m", true, 9, "a?[31m" },
		{ "\u202eabc", true, 9, "?abc" },
		{ "a\u0301\u0301b", true, 9, "a??b" },
	};
	char text[64];

	setenv("LC_ALL", "C.UTF-8", 1);
	setlocale(LC_CTYPE, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mf_live_view view = { .utf8 = cases[i].utf8 };

		mf_live_view_fit(&view, text, sizeof(text), cases[i].text, cases[i].columns);
		EXPECT_STREQ(cases[i].expected, text);
	}
	/* A buffer that is too small is not overrun. */
	for (size_t size = 1; size < 6; size++) {
		memset(text, 'x', sizeof(text));
		mf_live_view_fit(&(struct mf_live_view){ .utf8 = true }, text, size, "\u4e2d\u6587abc", 60);
		EXPECT_GT(size, strlen(text));
		EXPECT_EQ('x', text[size]);
	}
}

/* Returns how many bytes of the file were ever touched. */
static uint64_t used_in(int fd)
{
	uint64_t used = 0;

	for (off_t at = 0, hole; (at = lseek(fd, at, SEEK_DATA)) >= 0; at = hole) {
		hole = lseek(fd, at, SEEK_HOLE);
		used += (uint64_t)(hole - at);
	}
	return used;
}

/* Names of contexts that hold and allocate less than a hundredth can wait. */
TEST_F(top, names_that_can_wait)
{
	static const struct {
		uint64_t bytes, allocations; /* of contexts without names; all others: 10000 bytes, 10000 new blocks */
		bool needed;
	} cases[] = {
		{ 0, 0, false }, { 100, 0, false }, { 102, 0, true }, { 0, 100, false }, { 0, 102, true }, { 5000, 5000, true },
	};
	struct mf_live_table table;
	struct mf_error err;

	ASSERT_EQ(0, mf_live_table_init(&table, &err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mf_live_site *unnamed = &table.sites[MF_LIVE_BY_SITE].list[MF_LIVE_UNNAMED];

		unnamed->now = (struct mf_live_counts){ .bytes = cases[i].bytes, .allocations = 700 + cases[i].allocations };
		unnamed->before = (struct mf_live_counts){ .bytes = 1, .allocations = 700 };
		table.totals.counts.bytes = 10000 + cases[i].bytes;
		table.totals_before.counts.allocations = 5700;
		table.totals.counts.allocations = 15700 + cases[i].allocations;
		EXPECT_EQ(cases[i].needed, mf_live_table_needs_names(&table));
	}
	/* Before anything was counted, there is nothing to name. */
	table.sites[MF_LIVE_BY_SITE].list[MF_LIVE_UNNAMED].now = (struct mf_live_counts){ 0 };
	table.sites[MF_LIVE_BY_SITE].list[MF_LIVE_UNNAMED].before = (struct mf_live_counts){ 0 };
	table.totals = table.totals_before = (struct mf_live_totals){ 0 };
	EXPECT_FALSE(mf_live_table_needs_names(&table));
	mf_live_table_deinit(&table);
}

/* Contexts of threads that have never touched them are not read: that would take memory. */
TEST_F(top, reading_takes_no_memory)
{
	enum { CONTEXTS = 5000, SHARDS = 8 };
	struct mf_live_session session;
	struct mf_store store;
	struct mf_error err;
	uint64_t before;
	int memory;

	ASSERT_EQ(0, mf_store_create(&store, 0, &memory, &err));
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct mf_frame frame = { .pc = 0x1000 + i };
		uint32_t context = mf_trie_insert(&store, &frame, 1);

		mf_trie_charge(&store, context, i);
		mf_trie_count(&store, context, i);
	}
	/* A program that runs has used these. */
	mf_model_of(&store)->heap = 1;
	mf_tally_of(&store, 0)->users = 1;
	store.header->n_tallies = SHARDS;
	/* One shard has used a single context, in the middle; another has freed more than it had allocated. */
	mf_trie_cell(&store, 3, CONTEXTS / 2)->bytes = 1000000;
	mf_trie_cell(&store, 5, CONTEXTS - 1)->bytes = (uint64_t)-5000000;
	before = used_in(memory);
	ASSERT_EQ(0, mf_live_session_open(&session, dup(memory), 0, false, &err));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, mf_live_session_read(&session, &err));
		EXPECT_EQ(CONTEXTS, session.totals.counts.allocations);
		EXPECT_EQ(CONTEXTS / 2 - MF_CONTEXT_FIRST + 1000000, session.contexts[CONTEXTS / 2].bytes);
		EXPECT_EQ(10, session.contexts[MF_CONTEXT_FIRST + 10].bytes);
		EXPECT_EQ(0, session.contexts[CONTEXTS - 1].bytes);
	}
	EXPECT_EQ(before, used_in(memory));
	mf_live_session_close(&session);
	mf_store_detach(&store);
	close(memory);
}

/* A label is cut, and the site still has its numbers. */
TEST_F(top, long_names)
{
	static const size_t lengths[] = { MF_LIVE_LABEL_MAX, MF_LIVE_LABEL_MAX + 1, 10 * MF_LIVE_LABEL_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *name = calloc(1, lengths[i] + 1);
		struct mf_bytes text = { 0 };
		const char *label;

		ASSERT_NE(NULL, name);
		memset(name, 'n', lengths[i]);
		mf_bytes_add(&text, name, lengths[i]);
		label = mf_live_label_finish(&text);
		ASSERT_NE(NULL, label);
		EXPECT_EQ(MF_LIVE_LABEL_MAX, strlen(label));
		mf_bytes_deinit(&text);
		free(name);
	}
}

/* The limit of the saver is high, so files of all lower numbers are made before. */
TEST_F_TIMEOUT(top, number_of_snapshots, SECONDS)
{
	struct mf_saver saver = { .fd = -1, .program = "/bin/true" };
	struct mf_error err;
	char name[64];

	for (int i = 1; i < 10000; i++) {
		snprintf(name, sizeof(name), "massif.snapshot.1.%d", i);
		ctl_write_file(name, "", 0600);
	}
	ASSERT_EQ(0, mf_saver_start(&saver, 1, &err));
	EXPECT_EQ(-EBUSY, mf_saver_start(&saver, 1, &err));
	mf_saver_stop(&saver);
	ctl_write_file("massif.snapshot.1.10000", "", 0600);
	EXPECT_EQ(-EEXIST, mf_saver_start(&saver, 1, &err));
	EXPECT_STREQ("there are 10000 snapshots of process 1 here already", err.text);
}

enum garbage {
	SILENCE, NO_MAGIC, SHORT, WRONG_LENGTH, TOO_LONG, NO_DESCRIPTOR, TEXT_FILE, UNSEALED, ALL_ZERO, NO_TAB,
	OTHER_MODE, OTHER_KIND, NO_PID, ERROR_WITHOUT_TEXT, GARBAGES,
};

static const char *const garbage_messages[GARBAGES] = {
	[SILENCE] = "its massif-ctl has ended",
	[UNSEALED] = "has sent no session memory", [ALL_ZERO] = "has sent no session memory",
	[TEXT_FILE] = "has sent no session memory",
};

static int make_memory(enum garbage garbage)
{
	int fd = garbage == TEXT_FILE ? open("/dev/null", O_RDONLY) : memfd_create("m", MFD_ALLOW_SEALING);

	if (garbage != TEXT_FILE && ftruncate(fd, 1 << 20))
		_exit(5);
	if (garbage == ALL_ZERO && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		_exit(6);
	return fd;
}

static void send_garbage(int guest, enum garbage garbage)
{
	static char text[100000];
	struct mf_control_answer answer = { .magic = MF_CONTROL_MAGIC };
	struct iovec parts[] = { { &answer, sizeof(answer) }, { text, 0 } };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd = make_memory(garbage);
	ssize_t sent;

	strcpy(text, "1\theap\t0\tcommand");
	if (garbage == NO_TAB)
		strcpy(text, "1 heap 0 command");
	if (garbage == OTHER_MODE)
		strcpy(text, "1\tsideways\t0\tcommand");
	if (garbage == NO_PID)
		strcpy(text, "-1\theap\t0\tcommand");
	if (garbage == TOO_LONG)
		memset(text, 'a', sizeof(text) - 1);
	if (garbage == ERROR_WITHOUT_TEXT)
		text[0] = '\0';
	answer.code = garbage == ERROR_WITHOUT_TEXT ? -ESRCH : 0;
	answer.magic ^= garbage == NO_MAGIC;
	answer.kind = garbage == OTHER_KIND ? 77 : MF_CONTROL_ANSWER;
	parts[1].iov_len = strlen(text);
	answer.bytes = (uint32_t)strlen(text) + (garbage == WRONG_LENGTH);
	if (garbage == SHORT) {
		parts[0].iov_len = 4;
		parts[1].iov_len = 0;
	}
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (garbage == NO_DESCRIPTOR || garbage == ERROR_WITHOUT_TEXT)
		message.msg_controllen = 0;
	if (garbage != SILENCE)
		sent = sendmsg(guest, &message, MSG_NOSIGNAL);
	(void)sent;
	close(fd);
}

/* A program with the name of a massif-ctl: lists process 1, and answers with garbage when it is to be watched. */
static void imitate(enum garbage garbage, int ready)
{
	static const char line[] = "1\theap\t5\t6\tcommand\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	strcpy(address.sun_path + 1, "massif-ctl/1/0");
	if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 15)) ||
	    listen(fd, 5) || write(ready, "r", 1) != 1)
		_exit(2);
	for (;;) {
		int guest = accept(fd, NULL, NULL);
		struct mf_control_request request;
		char list[sizeof(struct mf_control_answer) + sizeof(line) - 1];
		struct mf_control_answer answer = { MF_CONTROL_MAGIC, 0, sizeof(line) - 1 };

		if (recv(guest, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
			memcpy(list, &answer, sizeof(answer));
			memcpy(list + sizeof(answer), line, sizeof(line) - 1);
			if (request.verb == MF_CONTROL_WATCH)
				send_garbage(guest, garbage);
			else if (send(guest, list, sizeof(list), MSG_NOSIGNAL) < 0)
				_exit(3);
		}
		close(guest);
	}
}

TEST_F_TIMEOUT(top, answers_that_are_none, SECONDS)
{
	for (enum garbage garbage = 0; garbage < GARBAGES; garbage++) {
		const char *words = garbage_messages[garbage] ?: "sends what this one does not understand";
		int ready[2];
		char byte;
		pid_t pid;

		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid)
			imitate(garbage, ready[1]);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		TOP("--once");
		EXPECT_FAILS(words);
		EXPECT_STREQ("", self->result.out);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(ready[0]);
		close(ready[1]);
	}
}

/*
 * Forbids the system calls with which a process can stop the process @pid, trace it, or change its memory, in this process and
 * its descendants. These may end helpers of their own by signals.
 */
static int forbid_stopping(pid_t pid)
{
	static const uint32_t calls[] = { SYS_ptrace, SYS_pidfd_send_signal, SYS_process_vm_writev, SYS_process_madvise };
	static const uint32_t signals[] = { SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo };

	return forbid_calls(calls, sizeof(calls) / sizeof(calls[0]), ANY_ARGUMENT) ||
	       forbid_calls(signals, sizeof(signals) / sizeof(signals[0]), (uint32_t)pid) ||
	       forbid_calls(signals, sizeof(signals) / sizeof(signals[0]), 0);
}

/* Returns whether a process is stopped or traced. */
static bool is_stopped(pid_t pid)
{
	char path[64], line[256], state = '?';
	long tracer = -1;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "TracerPid: %ld", &tracer);
	}
	if (status)
		fclose(status);
	return !strchr("RSD", state) || tracer != 0;
}

/* Neither top nor what it starts makes a system call that could stop the program; and the program is never seen stopped. */
TEST_F_TIMEOUT(top, never_stops_the_program, SECONDS)
{
	unsigned int looks = 0, stopped = 0;
	int status = -1;
	pid_t pid;

	START(ctl_target("ctl_live"));
	pid = fork();
	if (pid == 0) {
		/* AddressSanitizer stops the process itself to find leaks. */
		setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
		if (!freopen("c.top", "w", stdout) || forbid_stopping(self->run.program))
			_exit(98);
		execl(ctl_path(), "massif-ctl", "top", "-d", "0.1", "-n", "20", NULL);
		_exit(99);
	}
	for (; waitpid(pid, &status, WNOHANG) == 0; looks++) {
		stopped += is_stopped(self->run.program);
		usleep(500);
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, stopped);
	EXPECT_LT(100, looks);
	CTL_RUN(&self->result, "grep", "-c", "^program ", "c.top");
	EXPECT_STREQ("20\n", self->result.out);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "grep", "-m", "1", "hold (ctl_live.c:", "c.top");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	/* Both would be noticed. */
	kill(self->run.program, SIGSTOP);
	for (int i = 0; i < 60000 && !is_stopped(self->run.program); i++)
		usleep(1000);
	EXPECT_TRUE(is_stopped(self->run.program));
	kill(self->run.program, SIGCONT);
	pid = fork();
	if (pid == 0) {
		if (forbid_stopping(self->run.program))
			_exit(98);
		kill(getpid(), 0);
		kill(self->run.program, 0);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

TEST_HARNESS_MAIN
