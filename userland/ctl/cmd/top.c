// SPDX-License-Identifier: GPL-2.0
// massif-ctl top: shows a program's memory while it runs.

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/standard_output.h"
#include "command.h"
#include "ctl/control/client.h"
#include "ctl/live/live.h"
#include "ctl/live/screen.h"
#include "ctl/live/view.h"
#include "ctl/message/message.h"
#include "ctl/options/number.h"

enum {
	TIMES_MAX = 1000000000,
	ROWS_MAX = 1000000,
	SECONDS_MAX = 3600,
	MS_LEAST = 100, /* minimum time between two updates */
	/* how long to wait for another massif-ctl, which may be looking up the names of a large program */
	PATIENCE_MS = 60000,
	NICENESS = 10, /* the program comes first */
};

struct top {
	pid_t pid;
	int64_t times;	   /* how often to print; 0 if the screen is used */
	int64_t period_ms; /* time between two updates */
	int64_t rows;
	struct mf_live_view view;
	regex_t regex;
	const char *filter; /* the text of @regex, or NULL */
};

static int parse_times(struct top *top, const char *text, struct mf_error *err)
{
	if (!mf_number_parse_integer(text, &top->times) || top->times < 1 || top->times > TIMES_MAX)
		return mf_error_set(err, -EINVAL, "-n %.200s: use a number from 1 to %d", text, TIMES_MAX);
	return 0;
}

static int parse_period(struct top *top, const char *text, struct mf_error *err)
{
	double seconds;

	if (!*text || !mf_number_parse_decimal(text, &seconds) || seconds * 1000 < MS_LEAST || seconds > SECONDS_MAX)
		return mf_error_set(err, -EINVAL, "-d %.200s: use seconds from 0.1 to %d", text, SECONDS_MAX);
	top->period_ms = (int64_t)(seconds * 1000 + 0.5);
	return 0;
}

static int parse_rows(struct top *top, const char *text, struct mf_error *err)
{
	if (!mf_number_parse_integer(text, &top->rows) || top->rows < 1 || top->rows > ROWS_MAX)
		return mf_error_set(err, -EINVAL, "--top=%.200s: use a number from 1 to %d", text, ROWS_MAX);
	return 0;
}

/* Finds @text among the @n names. Returns its number, or -EINVAL with a message. */
static int find_name(const char *option, const char *text, const char *const *names, int n, struct mf_error *err)
{
	char all[160] = "";
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		if (strcmp(names[i], text) == 0)
			return i;
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", names[i]);
	}
	return mf_error_set(err, -EINVAL, "%s=%.200s: use one of %s", option, text, all);
}

static int parse_by(struct top *top, const char *text, struct mf_error *err)
{
	int found = find_name("--by", text, mf_live_by_names, MF_LIVE_BYS, err);

	if (found >= 0)
		top->view.by = (enum mf_live_by)found;
	return found < 0 ? found : 0;
}

static int parse_sort(struct top *top, const char *text, struct mf_error *err)
{
	int found = find_name("--sort", text, mf_live_sort_names, MF_LIVE_SORTS, err);

	if (found >= 0)
		top->view.sort = (enum mf_live_sort)found;
	return found < 0 ? found : 0;
}

static int parse_filter(struct top *top, const char *text, struct mf_error *err)
{
	int code = mf_screen_filter_compile(&top->regex, text, err);

	if (code)
		return code;
	if (top->filter)
		return mf_error_set(err, -EINVAL, "one --filter at a time");
	top->filter = text;
	top->view.filter = &top->regex;
	return 0;
}

/* An option with a value, which follows as the next word (-n 5) or after an equals sign (--sort=growth). */
static const struct option {
	const char *name;
	int (*parse)(struct top *top, const char *text, struct mf_error *err);
} options[] = {
	{ "-n", parse_times },	 { "-d", parse_period },   { "--top", parse_rows },
	{ "--by", parse_by },	 { "--sort", parse_sort }, { "--filter", parse_filter },
};

const char *const mf_command_top_words[] = { "--once", "-n", "-d", "--top", "--by", "--sort", "--filter", NULL };

static int parse_pid(struct top *top, const char *text, struct mf_error *err)
{
	int64_t number;

	if (!mf_number_parse_integer(text, &number) || number <= 0 || number > INT32_MAX)
		return mf_error_set(err, -EINVAL, "%.200s: not a process id", *text ? text : "''");
	if (top->pid)
		return mf_error_set(err, -EINVAL, "one process at a time: %d or %.200s?", (int)top->pid, text);
	top->pid = (pid_t)number;
	return 0;
}

/* Parses argv[*i], and for an option also its value. Returns 0 or -EINVAL. */
static int parse_word(struct top *top, int argc, char **argv, int *i, struct mf_error *err)
{
	const char *word = argv[*i];

	if (strcmp(word, "--once") == 0) {
		top->times = 1;
		return 0;
	}
	if (*word != '-')
		return parse_pid(top, word, err);
	for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
		size_t length = strlen(options[o].name);

		if (strncmp(word, options[o].name, length) != 0)
			continue;
		if (word[length] == '=' && word[1] == '-')
			return options[o].parse(top, word + length + 1, err);
		if (word[length])
			continue;
		if (++*i == argc)
			return mf_error_set(err, -EINVAL, "%s needs a value", word);
		return options[o].parse(top, argv[*i], err);
	}
	return mf_error_set(err, -EINVAL, "Unknown option: %.400s", word);
}

static int parse(struct top *top, int argc, char **argv, struct mf_error *err)
{
	int code = 0;

	for (int i = 0; i < argc && !code; i++)
		code = parse_word(top, argc, argv, &i, err);
	return code;
}

/* Waits until @until (see mf_live_now_ms()) or until something happens to the profile. */
static int wait_for(struct mf_live *live, int64_t until, struct mf_error *err)
{
	struct pollfd polled[MF_LIVE_POLLED];
	int64_t left = until - mf_live_now_ms();

	mf_live_poll(live, polled);
	if (poll(polled, MF_LIVE_POLLED, left > 0 ? (int)left : 0) < 0 && errno != EINTR)
		return mf_error_set(err, -errno, "poll: %s", strerror(errno));
	return mf_live_look(live, err);
}

/* Waits until the profile has begun, or cannot be shown. */
static int await_profile(struct mf_live *live, struct mf_error *err)
{
	int64_t end = mf_live_now_ms() + PATIENCE_MS;
	int code = 0;

	while (!code && live->state == MF_LIVE_BEGINNING && !live->note && mf_live_now_ms() < end)
		code = wait_for(live, end, err);
	if (code || live->has_session)
		return code;
	return mf_error_set(err, -EAGAIN, "%.900s", live->note ?: "the massif-ctl that profiles the process does not answer");
}

static int print_once(struct top *top, struct mf_live *live, struct mf_error *err)
{
	int code;

	mf_watch_ask(&live->watch);
	live->rests_until = 0;
	code = mf_live_update(live, err);
	if (!code)
		code = mf_live_name_all(live, err);
	if (code)
		return code;
	mf_live_view_print(&top->view, live, (size_t)top->rows, stdout);
	return mf_standard_output_finish(err);
}

/* Prints the profile so many times, or until the program has ended. */
static int print(struct top *top, struct mf_live *live, struct mf_error *err)
{
	int code = await_profile(live, err);

	for (int64_t i = 0; i < top->times && !code; i++) {
		int64_t next = mf_live_now_ms() + top->period_ms;
		bool ended;

		code = print_once(top, live, err);
		ended = live->state == MF_LIVE_ENDED;
		while (!code && !ended && i + 1 < top->times && mf_live_now_ms() < next && live->state != MF_LIVE_ENDED)
			code = wait_for(live, next, err);
		if (ended)
			break;
	}
	return code;
}

static int print_chosen(struct top *top, struct mf_error *err)
{
	__attribute__((cleanup(mf_ask_free))) struct mf_profiled_list list = { 0 };
	const struct mf_profiled *profiled;
	struct mf_live live = { 0 };
	int code = mf_ask_list(&list, MF_ASK_PATIENCE_MS, err);

	if (code)
		return code;
	profiled = mf_ask_choose(&list, top->pid, "", err);
	if (!profiled) {
		mf_ask_say_silent(&list);
		return -ESRCH;
	}
	code = mf_live_open(&live, profiled, err);
	if (!code)
		code = print(top, &live, err);
	mf_live_close(&live);
	return code;
}

static int show(struct top *top, struct mf_error *err)
{
	if (top->times)
		return print_chosen(top, err);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return mf_error_set(err, -ENOTTY, "top needs a terminal; use --once or -n N to print to a file or a pipe");
	return mf_screen_show(&(struct mf_screen_options){ top->pid, (int)top->period_ms, top->view, top->filter }, err);
}

int mf_command_top(int argc, char **argv)
{
	struct top top = { .period_ms = 1000, .rows = 20 };
	struct mf_error err;
	int code;

	setlocale(LC_CTYPE, "");
	top.view.utf8 = mf_live_view_is_utf8();
	code = parse(&top, argc, argv, &err);
	if (!code) {
		(void)setpriority(PRIO_PROCESS, 0, NICENESS);
		code = show(&top, &err);
	}
	if (top.filter)
		regfree(&top.regex);
	if (code)
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	return code ? 1 : 0;
}
