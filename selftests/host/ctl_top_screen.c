// SPDX-License-Identifier: GPL-2.0
// The screen of massif-ctl top, in a terminal of tmux.

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/live_run.h"
#include "selftests/lib/skip.h"

/* On a busy machine, what usually takes seconds can take minutes. */
#define SECONDS 600
#define TRIES	1500
#define TRY_US	100000

FIXTURE(screen) {
	struct live_run run;
	char *text; /* what the terminal shows */
};

/* The number of the terminal: each has a server of its own, because one that was told to end still takes some time. */
static int terminal;

static void tmux(const char *format, ...)
{
	char command[8192];
	size_t used = (size_t)snprintf(command, sizeof(command), "tmux -S c.tmux%d ", terminal);
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(command + used, sizeof(command) - used, format, args);
	va_end(args);
	status = system(command);
	(void)status;
}

static void close_terminal(void)
{
	tmux("kill-server 2>/dev/null");
	terminal++;
}

FIXTURE_SETUP(screen)
{
	ASSERT_TRUE(live_be_alone());
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
	unsetenv("TMUX");
	unsetenv("NO_COLOR");
	setenv("LC_ALL", "C.UTF-8", 1);
	/* The screen leaves what it has to exit(), so as not to wait for names that are being looked up. */
	setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
	if (system("tmux -V >/dev/null 2>&1"))
		SKIP_SETUP("there is no tmux");
}

FIXTURE_TEARDOWN(screen)
{
	close_terminal();
	live_stop(&self->run);
	free(self->text);
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

#define START(...) \
	ASSERT_TRUE(live_start(&self->run, NULL, (const char *const[]){ "massif-ctl", "-q", __VA_ARGS__, NULL }))

/*
 * Opens a terminal of 80 columns and 24 rows, with massif-ctl top in it. @before is put before the command: settings of
 * variables. When it ends, the terminal shows its exit status, and that of stty is compared to what it was.
 */
static void open_terminal(const char *before, const char *options)
{
	char script[8192];

	snprintf(script, sizeof(script),
		 "stty -g >c.stty\n%s '%s' top %s 2>c.top\necho status $?\ncat c.top\n"
		 "stty -g | cmp - c.stty && echo terminal restored\nexec sleep 1000\n", before, ctl_path(), options);
	ctl_write_file("c.sh", script, 0755);
	tmux("-f /dev/null -u new-session -d -x 80 -y 24 'sh c.sh'");
}

static void keys(const char *names)
{
	tmux("send-keys %s", names);
}

static void look(FIXTURE_DATA(screen) *self, const char *options)
{
	tmux("capture-pane -p %s >c.screen 2>/dev/null", options);
	free(self->text);
	self->text = ctl_read_file("c.screen") ?: strdup("");
}

/* Waits until the terminal shows @words, or with @shows false, does not. */
static bool await(FIXTURE_DATA(screen) *self, const char *words, bool shows)
{
	for (int i = 0; i < TRIES; i++) {
		look(self, "");
		if (!strstr(self->text, words) != shows)
			return true;
		usleep(TRY_US);
	}
	return false;
}

#define EXPECT_SHOWS(words) do {					\
	EXPECT_TRUE(await(self, words, true)) {				\
		TH_LOG("no '%s' in:\n%s", words, self->text);		\
	}								\
} while (0)

#define EXPECT_SHOWS_NOT(words) do {					\
	EXPECT_TRUE(await(self, words, false)) {			\
		TH_LOG("'%s' in:\n%s", words, self->text);		\
	}								\
} while (0)

/* Returns the first line of the table of sites, or "". */
static const char *first_site(FIXTURE_DATA(screen) *self)
{
	const char *head;

	look(self, "");
	head = strstr(self->text, "ALLOC/s");
	head = head ? strchr(head, '\n') : NULL;
	return head ? head + 1 : "";
}

/* Waits until @site is in the first line of the table. */
static bool await_first(FIXTURE_DATA(screen) *self, const char *site)
{
	for (int i = 0; i < TRIES; i++) {
		const char *line = first_site(self), *found = strstr(line, site);

		if (found && !memchr(line, '\n', (size_t)(found - line)))
			return true;
		usleep(TRY_US);
	}
	return false;
}

TEST_F_TIMEOUT(screen, shows_the_only_profile, SECONDS)
{
	START(ctl_target("ctl_live"));
	live_grow(&self->run);
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	EXPECT_SHOWS("ctl_live (pid ");
	EXPECT_SHOWS(", heap mode, ");
	EXPECT_SHOWS(", running");
	EXPECT_SHOWS("live 1.066 MB (useful 1.049 MB, extra 17.19 KB)");
	EXPECT_SHOWS("peak 1.066 MB");
	EXPECT_SHOWS("allocations/s (6100 in all)");
	EXPECT_SHOWS("  1.066 MB \u2502");
	EXPECT_SHOWS("       0 B \u2502");
	EXPECT_SHOWS("\u28ff");
	EXPECT_SHOWS("  976.6 KB  90.9%");
	EXPECT_SHOWS("q quit  p pause");
	keys("q");
	EXPECT_SHOWS("status 0\nterminal restored\n");
}

TEST_F_TIMEOUT(screen, sorts, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("", "-d 3");
	EXPECT_SHOWS("[HELD]");
	EXPECT_TRUE(await_first(self, "hold"));
	keys("Tab");
	EXPECT_SHOWS("[GROWTH/s]");
	live_grow(&self->run);
	EXPECT_TRUE(await_first(self, "grow"));
	keys("Right");
	EXPECT_SHOWS("[ALLOC/s]");
	live_grow(&self->run);
	EXPECT_TRUE(await_first(self, "churn"));
	/* When nothing has happened for a while, the order is that of what is held. */
	EXPECT_TRUE(await_first(self, "hold"));
	keys("Tab");
	EXPECT_SHOWS("[HELD]");
	keys("Left");
	EXPECT_SHOWS("[ALLOC/s]");
	keys("BTab");
	EXPECT_SHOWS("[GROWTH/s]");
	keys("f");
	EXPECT_SHOWS("FUNCTION");
	EXPECT_SHOWS("  hold\n");
	keys("f");
	EXPECT_SHOWS("  hold (ctl_live.c:");
}

TEST_F_TIMEOUT(screen, pauses, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("", "-d 0.2");
	EXPECT_SHOWS("(1000 in all)");
	keys("p");
	EXPECT_SHOWS("PAUSED");
	live_grow(&self->run);
	sleep(1);
	EXPECT_SHOWS("(1000 in all)");
	keys("p");
	EXPECT_SHOWS("(6100 in all)");
	EXPECT_SHOWS_NOT("PAUSED");
}

TEST_F_TIMEOUT(screen, filters, SECONDS)
{
	START(ctl_target("ctl_live"));
	live_grow(&self->run);
	open_terminal("", "--filter=^ho");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	EXPECT_SHOWS("/ filter: ^ho");
	EXPECT_SHOWS_NOT("  grow (ctl_live.c:");
	keys("/ BSpace BSpace 'gr' Enter");
	EXPECT_SHOWS("  grow (ctl_live.c:");
	EXPECT_SHOWS_NOT("  hold (ctl_live.c:");
	keys("/ '(' Enter");
	EXPECT_SHOWS("filter '^gr(': ");
	EXPECT_SHOWS("  grow (ctl_live.c:");
	keys("/ 'x'");
	EXPECT_SHOWS("/^grx_");
	keys("Escape");
	EXPECT_SHOWS("/ filter: ^gr");
	keys("/ BSpace BSpace BSpace Enter");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	EXPECT_SHOWS("/ filter  ");
	/* Of the longest filter, what is beyond is not taken. */
	keys("/");
	for (int i = 0; i < 26; i++)
		keys("aaaaaaaaaa");
	keys("Enter");
	EXPECT_SHOWS_NOT("  hold (ctl_live.c:");
	keys("q");
	EXPECT_SHOWS("status 0\nterminal restored\n");
}

TEST_F_TIMEOUT(screen, saves, SECONDS)
{
	char name[64], line[128], *text;

	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	for (int i = 1; i <= 2; i++) {
		keys("s");
		snprintf(name, sizeof(name), "massif.snapshot.%s.%d", self->run.pid, i);
		snprintf(line, sizeof(line), "ctl_live (pid %s): wrote %s", self->run.pid, name);
		EXPECT_SHOWS(line);
		text = ctl_read_file(name);
		ASSERT_NE(NULL, text);
		EXPECT_TRUE(ctl_is_massif_file(text));
		EXPECT_NE(NULL, strstr(text, "\nn1: 1000000 "));
		free(text);
	}
	keys("Down");
	EXPECT_SHOWS("q quit");
}

TEST_F_TIMEOUT(screen, end_of_the_program, SECONDS)
{
	char name[256];

	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	live_stop(&self->run);
	EXPECT_SHOWS("ended; wrote /");
	ASSERT_EQ(1, ctl_find_files("massif.out.", name));
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("s");
	EXPECT_SHOWS("the program has ended\n");
	keys("Escape");
	EXPECT_SHOWS("no profile is running");
	keys("q");
	EXPECT_SHOWS("status 0\nterminal restored\n");
}

/*
 * massif-ctl top delays the names of sites that hold little. When the program has ended, it must not delay them any longer,
 * because no update follows.
 */
TEST_F_TIMEOUT(screen, names_after_the_end, SECONDS)
{
	START(ctl_target("ctl_live"));
	live_grow(&self->run);
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	live_stop(&self->run);
	EXPECT_SHOWS("  leave (ctl_live.c:");
	EXPECT_SHOWS_NOT("(names are being looked up)");
}

/* Without massif-ctl, there is no file; top says so and stays. */
TEST_F_TIMEOUT(screen, end_of_massif_ctl, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	kill(self->run.ctl, SIGKILL);
	EXPECT_SHOWS("ended: its massif-ctl has ended without a file");
}

TEST_F_TIMEOUT(screen, several_profiles, SECONDS)
{
	struct live_run first;

	START(ctl_target("ctl_live"), "one");
	first = self->run;
	START(ctl_target("ctl_live"), "two");
	open_terminal("", "");
	EXPECT_SHOWS("choose a profile");
	EXPECT_SHOWS("  ctl_live one\n");
	EXPECT_SHOWS("  ctl_live two\n");
	keys("Up Up Enter");
	EXPECT_SHOWS(", heap mode, ");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("Escape");
	EXPECT_SHOWS("choose a profile");
	keys("Down Down Down Enter");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("Escape");
	EXPECT_SHOWS("choose a profile");
	/* One that ends vanishes from the list. */
	live_stop(&first);
	EXPECT_SHOWS_NOT("ctl_live one");
	EXPECT_SHOWS("  ctl_live two\n");
	keys("q");
	EXPECT_SHOWS("status 0");
}

TEST_F_TIMEOUT(screen, of_a_process, SECONDS)
{
	struct live_run first;
	char words[64];

	START(ctl_target("ctl_live"), "one");
	first = self->run;
	START(ctl_target("ctl_live"), "two");
	open_terminal("", first.pid);
	snprintf(words, sizeof(words), "ctl_live (pid %s)", first.pid);
	EXPECT_SHOWS(words);
	close_terminal();
	open_terminal("", "1");
	EXPECT_SHOWS("massif-ctl: process 1 is not being profiled");
	EXPECT_SHOWS("terminal restored\n");
	live_stop(&first);
}

TEST_F_TIMEOUT(screen, sizes, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	tmux("resize-window -x 40 -y 8");
	EXPECT_SHOWS_NOT("\u2502");
	EXPECT_SHOWS("live 992.2 KB (useful");
	tmux("resize-window -x 39 -y 8");
	EXPECT_SHOWS("too small: 39x8, needs 40x8");
	tmux("resize-window -x 40 -y 7");
	EXPECT_SHOWS("too small: 40x7, needs 40x8");
	tmux("resize-window -x 4 -y 2");
	sleep(1);
	tmux("resize-window -x 200 -y 60");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	EXPECT_SHOWS("  ? help");
	/* The end of the last line is not lost, and nothing is drawn twice. */
	ASSERT_TRUE(await(self, "q quit", true));
	EXPECT_EQ(NULL, strstr(strstr(self->text, "q quit") + 1, "q quit"));
	tmux("resize-window -x 80 -y 24");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("q");
	EXPECT_SHOWS("status 0\nterminal restored\n");
}

TEST_F_TIMEOUT(screen, help, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("'?'");
	EXPECT_SHOWS("save a detailed snapshot");
	keys("x");
	EXPECT_SHOWS("  hold (ctl_live.c:");
}

TEST_F_TIMEOUT(screen, other_terminals, SECONDS)
{
	static const char *const types[] = { "TERM=vt100", "TERM=xterm", "TERM=linux", "LC_ALL=C", "LC_ALL=C TERM=vt100" };

	START(ctl_target("ctl_live"));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		open_terminal(types[i], "");
		EXPECT_SHOWS("  hold (ctl_live.c:");
		EXPECT_SHOWS(strstr(types[i], "LC_ALL") ? "  992.2 KB |" : "\u2502");
		look(self, "");
		if (strstr(types[i], "LC_ALL")) {
			for (const char *c = self->text; *c; c++)
				EXPECT_GT(0x80, (unsigned char)*c);
		}
		keys("q");
		EXPECT_SHOWS("status 0\nterminal restored\n");
		close_terminal();
	}
}

TEST_F_TIMEOUT(screen, terminals_that_cannot, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("TERM=dumb", "");
	EXPECT_SHOWS("massif-ctl: this terminal (TERM=dumb) cannot move its cursor");
	EXPECT_SHOWS("terminal restored\n");
	close_terminal();
	open_terminal("TERM=none-such", "");
	EXPECT_SHOWS("massif-ctl: the terminal type 'none-such' (TERM) is not known here");
	close_terminal();
	open_terminal("TERM=", "");
	EXPECT_SHOWS("massif-ctl: the terminal type '' (TERM) is not known here");
	EXPECT_SHOWS("status 1\n");
}

TEST_F_TIMEOUT(screen, colours, SECONDS)
{
	START(ctl_target("ctl_live"));
	open_terminal("TERM=screen", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	look(self, "-e");
	EXPECT_NE(NULL, strstr(self->text, "\033[36m"));
	close_terminal();
	open_terminal("TERM=screen NO_COLOR=1", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	look(self, "-e");
	for (const char *at = self->text; (at = strstr(at, "\033[3")); at++)
		EXPECT_EQ('9', at[3]);
	EXPECT_EQ(NULL, strstr(self->text, "\033[36m"));
}

/* Returns the process that runs in the terminal. */
static pid_t find_top(void)
{
	char *text;
	pid_t pid;

	tmux("list-panes -F '#{pane_pid}' >c.pane");
	text = ctl_read_file("c.pane");
	pid = text ? atoi(text) : 0;
	free(text);
	if (pid) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
		text = ctl_read_file(path);
		pid = text ? atoi(text) : 0;
		free(text);
	}
	return pid;
}

/* The terminal is restored whatever ends top. */
TEST_F_TIMEOUT(screen, signals, SECONDS)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS };

	START(ctl_target("ctl_live"));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char words[64];
		pid_t top;

		open_terminal("ulimit -c 0;", "");
		EXPECT_SHOWS("  hold (ctl_live.c:");
		top = find_top();
		ASSERT_LT(0, top);
		kill(top, numbers[i]);
		snprintf(words, sizeof(words), "status %d\n", 128 + numbers[i]);
		EXPECT_SHOWS(words);
		EXPECT_SHOWS("terminal restored\n");
		EXPECT_SHOWS_NOT("  hold (ctl_live.c:");
		close_terminal();
	}
}

/* Ctrl-Z suspends it; the shell has the terminal as it was until fg. */
TEST_F_TIMEOUT(screen, is_suspended, SECONDS)
{
	char command[8192];

	START(ctl_target("ctl_live"));
	tmux("-f /dev/null -u new-session -d -x 80 -y 24 'env PS1=prompt$ bash --norc --noprofile'");
	EXPECT_SHOWS("prompt$");
	snprintf(command, sizeof(command), "\"'%s' top\" Enter", ctl_path());
	keys(command);
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("C-z");
	EXPECT_SHOWS("Stopped");
	EXPECT_SHOWS_NOT("  hold (ctl_live.c:");
	keys("fg Enter");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	keys("q");
	EXPECT_SHOWS_NOT("  hold (ctl_live.c:");
}

/* If the terminal goes away, top does, too. */
TEST_F_TIMEOUT(screen, terminal_that_vanishes, SECONDS)
{
	pid_t top;
	bool gone = false;

	START(ctl_target("ctl_live"));
	open_terminal("", "");
	EXPECT_SHOWS("  hold (ctl_live.c:");
	top = find_top();
	ASSERT_LT(0, top);
	close_terminal();
	for (int i = 0; i < TRIES && !gone; i++) {
		gone = kill(top, 0) != 0;
		usleep(TRY_US);
	}
	EXPECT_TRUE(gone);
}

TEST_HARNESS_MAIN
