// SPDX-License-Identifier: GPL-2.0
// The screen of massif-ctl top.

#include "screen.h"

#include <errno.h>
#include <string.h>

int mf_screen_filter_compile(regex_t *regex, const char *text, struct mf_error *err)
{
	char why[200];
	int code;

	if (strlen(text) > MF_SCREEN_FILTER_MAX)
		return mf_error_set(err, -EINVAL, "the filter is longer than %u bytes", MF_SCREEN_FILTER_MAX);
	code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (!code)
		return 0;
	regerror(code, regex, why, sizeof(why));
	return mf_error_set(err, -EINVAL, "filter '%s': %s", text, why);
}

#ifndef MASSIF_HAS_NCURSES

int mf_screen_show(const struct mf_screen_options *options, struct mf_error *err)
{
	return mf_error_set(err, -EOPNOTSUPP, "this massif-ctl was built without ncurses, so it has no screen; use --once "
					      "or -n N, or build it again with libncurses-dev");
}

#else

#include <curses.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "curses.h"
#include "picker.h"
#include "saver.h"

enum {
	LINES_LEAST = 8,
	COLUMNS_LEAST = 40,
	LABEL = 10,	 /* columns for the labels of the curve */
	LIST_MS = 2000,	 /* time between two readings of the list of profiles */
	KEY_ESCAPE = 27,
	KEY_DELETE = 127,
};

struct screen {
	struct mf_curses curses;
	struct mf_live_view view;
	int period_ms;
	regex_t regex;	 /* compiled from @filter, unless that is "" */
	char filter[MF_SCREEN_FILTER_MAX + 1];
	struct mf_picker picker;
	struct mf_live live;
	bool watches;	 /* @live is shown, not the list */
	bool paused, helps, quits;
	bool stale;	 /* what is on the screen is to be drawn anew */
	uint64_t drawn;	 /* @live.n_changes when the screen was drawn */
	bool edits;	 /* the user types a filter: */
	char edited[MF_SCREEN_FILTER_MAX + 1];
	char message[1200]; /* shown in the last line until the next key */
	size_t first;	 /* the first site that is shown */
	size_t rows;	 /* how many there is room for */
	int64_t update_at;
	struct mf_saver saver;
	int died_of; /* the signal that ended it, or 0 */
};

static void say(struct screen *screen, const char *text)
{
	snprintf(screen->message, sizeof(screen->message), "%s", text);
	screen->stale = true;
}

/* Writes at most @columns columns of @text at the given place. */
static void put(const struct screen *screen, int line, int column, const char *text, int columns)
{
	char fitted[4096];

	if (columns <= 0)
		return;
	mf_live_view_fit(&screen->view, fitted, sizeof(fitted), text, (size_t)columns);
	mvaddstr(line, column, fitted);
}

/* A line over the whole width, in reverse video. */
static void put_bar(const struct screen *screen, int line, const char *text)
{
	attron(A_REVERSE);
	mvprintw(line, 0, "%*s", COLS - 1, "");
	put(screen, line, 0, text, COLS - 1);
	attroff(A_REVERSE);
}

static int curve_rows(void)
{
	return LINES >= 20 ? 5 : LINES >= 15 ? 3 : 0;
}

/* Draws the curve from line @top on. */
static void draw_curve(const struct screen *screen, int top)
{
	int columns = COLS - LABEL - 3, rows = curve_rows();
	struct mf_live_graph graph = {
		.history = &screen->live.history,
		.columns = (size_t)columns,
		.rows = (size_t)rows,
		.braille = screen->view.utf8,
	};
	mf_auto_free char *text = malloc(MF_LIVE_GRAPH_BYTES((size_t)columns));
	int64_t span_ms;
	char span[64];

	if (!text || !rows)
		return;
	span_ms = mf_live_graph_span_ms(&graph);
	if (span_ms < 100000)
		snprintf(span, sizeof(span), "last %d s", (int)(span_ms / 1000));
	else
		snprintf(span, sizeof(span), "last %" PRId64 "min", span_ms / 60000);
	for (int row = 0; row < rows; row++) {
		const char *label = row == 0 ? mf_quantity_bytes(mf_live_graph_highest(&graph)).text :
				    row == rows - 1 ? "0 B" : row == 1 ? span : "";

		mvprintw(top + row, 0, "%*.*s %s", LABEL, LABEL, label, screen->view.utf8 ? "\u2502" : "|");
		mf_live_graph_row(&graph, (size_t)row, text);
		if (screen->curses.colours)
			attron(COLOR_PAIR(MF_CURSES_CURVE));
		mvaddstr(top + row, LABEL + 2, text);
		attroff(COLOR_PAIR(MF_CURSES_CURVE));
	}
}

/* Writes @label, shortened if it is longer than @columns. */
static void put_label(const struct screen *screen, int line, int column, const char *label, int columns)
{
	mf_auto_free char *text = NULL;
	size_t size;
	struct mf_terminal terminal = { .out = open_memstream(&text, &size), .utf8 = screen->view.utf8 };

	if (columns <= 0)
		return;
	if (terminal.out) {
		mf_label_print(&terminal, label, (unsigned int)columns);
		fclose(terminal.out);
	}
	put(screen, line, column, text ?: label, columns);
}

/* Draws the table from line @top on. */
static void draw_table(struct screen *screen, int top)
{
	const struct mf_live_site **sites;
	size_t n = mf_live_table_list(&screen->live.table, screen->view.by, screen->view.sort, screen->view.filter, &sites);
	char text[256];

	mf_live_view_columns(&screen->view, text, sizeof(text));
	put_bar(screen, top, text);
	screen->rows = LINES - 2 > top ? (size_t)(LINES - 2 - top) : 0;
	if (screen->first + screen->rows > n)
		screen->first = n > screen->rows ? n - screen->rows : 0;
	for (size_t i = 0; i < screen->rows && screen->first + i < n; i++) {
		const struct mf_live_site *site = sites[screen->first + i];
		int line = top + 1 + (int)i, used;

		mf_live_view_site(&screen->live, site, text, sizeof(text));
		used = (int)strlen(text);
		put(screen, line, 0, text, COLS - 1);
		put_label(screen, line, used, site->label, COLS - 1 - used);
	}
	free(sites);
}

static void draw_profile(struct screen *screen)
{
	const struct mf_live *live = &screen->live;
	bool alert = live->state >= MF_LIVE_ENDING;
	char text[8192];

	for (int line = 0; line < mf_live_view_heads(live); line++) {
		mf_live_view_head(live, line, text, sizeof(text));
		if (line == MF_LIVE_HEAD_PROGRAM)
			attron(A_BOLD | (alert && screen->curses.colours ? COLOR_PAIR(MF_CURSES_ALERT) : 0));
		put(screen, line, 0, text, COLS - 1);
		attrset(A_NORMAL);
		if (!live->has_session)
			return;
	}
	draw_curve(screen, mf_live_view_heads(live));
	draw_table(screen, mf_live_view_heads(live) + curve_rows());
}

static const char *const help[] = {
	"massif-ctl top", "",
	"HELD      bytes that the site has allocated and that are not freed",
	"GROWTH/s  change of HELD per second since the last update",
	"ALLOC/s   blocks that the site has allocated per second", "",
	"Tab Right, Left  sort by the next or previous column",
	"Up Down PgUp PgDn Home  scroll",
	"f  call sites or functions",
	"/  show only rows that match a regular expression; empty: all",
	"p  pause, and go on",
	"s  save a detailed snapshot in a file here",
	"Escape  list of profiles     q  quit     any key  back",
};

static void draw_help(const struct screen *screen)
{
	for (int i = 0; i < (int)(sizeof(help) / sizeof(help[0])) && i < LINES; i++)
		put(screen, i, 0, help[i], COLS - 1);
}

static void draw_status(const struct screen *screen)
{
	char text[2048];

	if (screen->edits)
		snprintf(text, sizeof(text), "/%s_", screen->edited);
	else if (screen->message[0])
		snprintf(text, sizeof(text), "%s", screen->message);
	else if (!screen->watches)
		snprintf(text, sizeof(text), "Up Down choose  Enter watch  q quit  ? help");
	else
		snprintf(text, sizeof(text), "%sq quit  p pause  s save  / filter%s%s  Tab sort  f %s  ? help",
			 screen->paused ? "PAUSED  " : "", screen->filter[0] ? ": " : "", screen->filter,
			 screen->view.by == MF_LIVE_BY_SITE ? "functions" : "sites");
	put_bar(screen, LINES - 1, text);
}

static void draw(struct screen *screen)
{
	screen->stale = false;
	screen->drawn = screen->live.n_changes;
	erase();
	if (LINES < LINES_LEAST || COLS < COLUMNS_LEAST) {
		char text[96];

		snprintf(text, sizeof(text), "too small: %dx%d, needs %dx%d", COLS, LINES, COLUMNS_LEAST, LINES_LEAST);
		put(screen, 0, 0, text, COLS);
	} else if (screen->helps) {
		draw_help(screen);
	} else {
		if (screen->watches)
			draw_profile(screen);
		else
			mf_picker_draw(&screen->picker, &screen->view);
		draw_status(screen);
	}
	refresh();
}

/* Begins to watch the profile that is marked in the list. */
static void watch(struct screen *screen, const struct mf_profiled *profiled)
{
	struct mf_error err;

	mf_live_close(&screen->live);
	screen->watches = !mf_live_open(&screen->live, profiled, &err);
	screen->paused = false;
	screen->first = 0;
	screen->update_at = 0;
	if (!screen->watches) {
		mf_live_close(&screen->live);
		say(screen, err.text);
	}
}

static void leave_profile(struct screen *screen)
{
	struct mf_error err;

	mf_live_close(&screen->live);
	screen->watches = false;
	if (mf_picker_read(&screen->picker, &err))
		say(screen, err.text);
}

static void save(struct screen *screen)
{
	struct mf_error err;

	if (screen->live.state >= MF_LIVE_ENDING)
		say(screen, "the program has ended");
	else if (mf_saver_start(&screen->saver, screen->live.pid, &err))
		say(screen, err.text);
	else
		say(screen, "saving a snapshot");
}

static void scroll_by(struct screen *screen, long rows)
{
	if (rows < 0 && screen->first < (size_t)-rows)
		screen->first = 0;
	else
		screen->first += (size_t)rows; /* draw_table() corrects it at the end */
}

static void take_profile_key(struct screen *screen, int key)
{
	enum mf_live_sort sort = screen->view.sort;

	switch (key) {
	case '\t':
	case KEY_RIGHT:
		screen->view.sort = sort + 1 < MF_LIVE_SORTS ? sort + 1 : 0;
		break;
	case KEY_BTAB:
	case KEY_LEFT:
		screen->view.sort = sort ? sort - 1 : MF_LIVE_SORTS - 1;
		break;
	case KEY_UP:
		scroll_by(screen, -1);
		break;
	case KEY_DOWN:
		scroll_by(screen, 1);
		break;
	case KEY_PPAGE:
		scroll_by(screen, -(long)screen->rows);
		break;
	case KEY_NPAGE:
		scroll_by(screen, (long)screen->rows);
		break;
	case KEY_HOME:
		screen->first = 0;
		break;
	case 'f':
		screen->view.by = screen->view.by == MF_LIVE_BY_SITE ? MF_LIVE_BY_FUNCTION : MF_LIVE_BY_SITE;
		break;
	case 'p':
		screen->paused = !screen->paused;
		screen->update_at = 0;
		break;
	case 's':
		save(screen);
		break;
	case '/':
		screen->edits = true;
		snprintf(screen->edited, sizeof(screen->edited), "%s", screen->filter);
		break;
	case KEY_ESCAPE:
		leave_profile(screen);
		break;
	}
}

static void take_list_key(struct screen *screen, int key)
{
	const struct mf_profiled *chosen = mf_picker_chosen(&screen->picker);

	switch (key) {
	case KEY_UP:
		mf_picker_move(&screen->picker, -1);
		break;
	case KEY_DOWN:
		mf_picker_move(&screen->picker, 1);
		break;
	case KEY_PPAGE:
		mf_picker_move(&screen->picker, -LINES);
		break;
	case KEY_NPAGE:
		mf_picker_move(&screen->picker, LINES);
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
		if (chosen)
			watch(screen, chosen);
		break;
	}
}

static void apply_filter(struct screen *screen)
{
	struct mf_error err;
	regex_t regex;

	if (screen->edited[0] && mf_screen_filter_compile(&regex, screen->edited, &err)) {
		say(screen, err.text);
		return;
	}
	if (screen->filter[0])
		regfree(&screen->regex);
	snprintf(screen->filter, sizeof(screen->filter), "%s", screen->edited);
	screen->view.filter = NULL;
	screen->first = 0;
	if (screen->filter[0]) {
		screen->regex = regex;
		screen->view.filter = &screen->regex;
	}
}

static void take_filter_key(struct screen *screen, int key)
{
	size_t length = strlen(screen->edited);

	if (key == KEY_ESCAPE) {
		screen->edits = false;
	} else if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		screen->edits = false;
		apply_filter(screen);
	} else if (key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') {
		/* A character of UTF-8 goes with all its bytes. */
		while (length && (screen->edited[--length] & 0xc0) == 0x80)
			continue;
		screen->edited[length] = '\0';
	} else if (key >= ' ' && key <= 0xff && length < MF_SCREEN_FILTER_MAX) {
		screen->edited[length] = (char)key;
		screen->edited[length + 1] = '\0';
	} else if (key >= ' ' && key <= 0xff) {
		beep();
	}
}

static void take_key(struct screen *screen, int key)
{
	if (key == KEY_RESIZE)
		return;
	if (screen->edits) {
		take_filter_key(screen, key);
		return;
	}
	screen->message[0] = '\0';
	if (screen->helps)
		screen->helps = false;
	else if (key == 'q')
		screen->quits = true;
	else if (key == '?' || key == 'h')
		screen->helps = true;
	else if (key == '\f')
		clearok(stdscr, TRUE);
	else if (screen->watches)
		take_profile_key(screen, key);
	else
		take_list_key(screen, key);
}

/* Takes all keys that were pressed. If the terminal is gone, there are no more. */
static void take_keys(struct screen *screen, short events)
{
	int key = getch();

	if (key == ERR && events & (POLLHUP | POLLERR | POLLNVAL))
		screen->quits = true;
	for (; key != ERR && !screen->quits; key = getch())
		take_key(screen, key);
}

static void update_profile(struct screen *screen)
{
	enum mf_live_state before = screen->live.state;
	int64_t now = mf_live_now_ms();
	struct mf_error err;

	if (mf_live_look(&screen->live, &err))
		say(screen, err.text);
	else if (screen->live.state != before && screen->live.state == MF_LIVE_ENDED)
		/* Here is more room for the name of the file than in the first line. */
		mf_live_view_state(&screen->live, screen->message, sizeof(screen->message));
	screen->stale |= screen->live.n_changes != screen->drawn;
	if (screen->paused || now < screen->update_at)
		return;
	mf_watch_ask(&screen->live.watch);
	if (mf_live_update(&screen->live, &err))
		say(screen, err.text);
	screen->stale |= screen->live.n_changes != screen->drawn;
	screen->update_at = now + (screen->live.has_session ? screen->period_ms : 100);
}

static void update_list(struct screen *screen)
{
	struct mf_error err;

	if (mf_live_now_ms() < screen->picker.read_at + LIST_MS)
		return;
	screen->stale = true;
	if (mf_picker_read(&screen->picker, &err))
		say(screen, err.text);
}

/* Returns for how many milliseconds there is nothing to do. */
static int time_left(const struct screen *screen)
{
	int64_t until = screen->watches ? screen->update_at : screen->picker.read_at + LIST_MS;
	int64_t left = until - mf_live_now_ms();

	if (screen->watches && (screen->paused || screen->live.state == MF_LIVE_ENDED))
		return -1;
	return left < 0 ? 0 : (int)left;
}

static void wait_for_events(struct screen *screen)
{
	struct pollfd polled[3 + MF_LIVE_POLLED] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = screen->curses.signals, .events = POLLIN },
		{ .fd = screen->saver.fd, .events = POLLIN },
		{ .fd = -1 }, { .fd = -1 }, { .fd = -1 },
	};
	const char *saved;

	if (screen->watches)
		mf_live_poll(&screen->live, polled + 3);
	if (poll(polled, sizeof(polled) / sizeof(polled[0]), time_left(screen)) <= 0)
		return;
	if (polled[0].revents || polled[1].revents)
		screen->stale = true;
	if (polled[1].revents) {
		screen->died_of = mf_curses_look(&screen->curses);
		screen->quits |= screen->died_of != 0;
	}
	if (polled[2].revents) {
		saved = mf_saver_look(&screen->saver);
		if (saved)
			say(screen, saved);
	}
	if (polled[0].revents)
		take_keys(screen, polled[0].revents);
}

static void run(struct screen *screen)
{
	while (!screen->quits) {
		if (screen->watches)
			update_profile(screen);
		else
			update_list(screen);
		if (screen->stale)
			draw(screen);
		wait_for_events(screen);
	}
}

/* Reads the list, and chooses the profile that the options name, or the only one. */
static int choose(struct screen *screen, pid_t pid, const struct mf_profiled **chosen, struct mf_error *err)
{
	int code = mf_picker_read(&screen->picker, err);
	size_t n_first = 0;

	*chosen = NULL;
	if (code)
		return code;
	for (size_t i = 0; i < screen->picker.list.count; i++)
		n_first += screen->picker.list.items[i].is_first != 0;
	if (!pid && n_first > 1)
		return 0;
	*chosen = mf_ask_choose(&screen->picker.list, pid, "", err);
	return *chosen ? 0 : -ESRCH;
}

static int start(struct screen *screen, const struct mf_screen_options *options, struct mf_error *err)
{
	const struct mf_profiled *chosen;
	int code;

	if (options->filter) {
		snprintf(screen->edited, sizeof(screen->edited), "%s", options->filter);
		apply_filter(screen);
	}
	code = choose(screen, options->pid, &chosen, err);
	if (!code)
		code = mf_curses_open(&screen->curses, err);
	if (!code && chosen)
		watch(screen, chosen);
	return code;
}

int mf_screen_show(const struct mf_screen_options *options, struct mf_error *err)
{
	struct screen screen = {
		.curses = { .signals = -1 },
		.view = options->view,
		.period_ms = options->period_ms,
		.stale = true,
		.saver = { .program = MF_SAVER_PROGRAM, .fd = -1 },
	};
	int code = start(&screen, options, err);

	if (!code) {
		run(&screen);
		mf_curses_close(&screen.curses);
	}
	mf_saver_stop(&screen.saver);
	/* Names may still be being looked up, for which the user must not wait, so the profile is left to exit(). */
	mf_picker_deinit(&screen.picker);
	if (screen.filter[0])
		regfree(&screen.regex);
	if (screen.died_of)
		mf_curses_die(screen.died_of);
	return code;
}

#endif
