// SPDX-License-Identifier: GPL-2.0
// The terminal, used through ncurses.

#include "curses.h"

#ifdef MASSIF_HAS_NCURSES

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_MS 50 /* an escape character that nothing follows is the key */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP };

/* What a crash needs to restore the terminal: ncurses itself must not be called from a signal handler. */
static struct {
	struct termios mode;
	char text[256]; /* escape sequences */
	volatile sig_atomic_t size;
} rescue;

static void add_sequence(const char *capability)
{
	const char *text = tigetstr(capability);
	size_t used = strlen(rescue.text);

	if (text && text != (char *)-1)
		snprintf(rescue.text + used, sizeof(rescue.text) - used, "%s", text);
}

static void crash(int number)
{
	ssize_t size;

	if (rescue.size) {
		size = write(STDOUT_FILENO, rescue.text, (size_t)rescue.size);
		(void)size;
		tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.mode);
	}
	/* The handler was reset, so this is the end. */
	raise(number);
}

static void prepare_for_crashes(void)
{
	struct sigaction action = { .sa_handler = crash, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	rescue.text[0] = '\0';
	add_sequence("sgr0");
	add_sequence("cnorm");
	add_sequence("rmkx");
	add_sequence("rmcup");
	rescue.size = (sig_atomic_t)strlen(rescue.text);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &action, NULL);
}

static void forget_crashes(void)
{
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		signal(crashes[i], SIG_DFL);
	rescue.size = 0;
}

static void fill_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(set, ends[i]);
	sigaddset(set, SIGTSTP);
	sigaddset(set, SIGWINCH);
}

/* Checks that the terminal is known and can move the cursor. */
static int check_terminal(struct mf_error *err)
{
	const char *type = getenv("TERM"), *move;
	int code;

	if (setupterm(NULL, STDOUT_FILENO, &code) != OK)
		return mf_error_set(err, -ENOTTY, "the terminal type '%.60s' (TERM) is not known here; set another, or use "
						  "--once", type && *type ? type : "");
	move = tigetstr("cup");
	if (!move || move == (char *)-1)
		return mf_error_set(err, -ENOTTY, "this terminal (TERM=%.60s) cannot move its cursor; use --once or -n N",
				    type && *type ? type : "");
	return 0;
}

static void choose_colours(struct mf_curses *curses)
{
	const char *none = getenv("NO_COLOR");

	curses->colours = !(none && *none) && has_colors() && start_color() == OK;
	if (!curses->colours)
		return;
	use_default_colors();
	init_pair(MF_CURSES_CURVE, COLOR_CYAN, -1);
	init_pair(MF_CURSES_ALERT, COLOR_RED, -1);
}

int mf_curses_open(struct mf_curses *curses, struct mf_error *err)
{
	sigset_t set;
	int code = check_terminal(err);

	if (code)
		return code;
	if (tcgetattr(STDOUT_FILENO, &rescue.mode))
		return mf_error_set(err, -errno, "cannot use the terminal: %s", strerror(errno));
	fill_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*curses = (struct mf_curses){ .signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) };
	if (curses->signals < 0)
		return mf_error_set(err, -errno, "signalfd: %s", strerror(errno));
	prepare_for_crashes();
	if (!newterm(NULL, stdout, stdin)) {
		mf_curses_close(curses);
		return mf_error_set(err, -ENOTTY, "ncurses cannot use this terminal");
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	choose_colours(curses);
	return 0;
}

void mf_curses_close(struct mf_curses *curses)
{
	sigset_t set;

	if (stdscr && !isendwin()) {
		/* A terminal without a second screen keeps what was drawn; the shell goes on in the last line. */
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
		endwin();
	}
	forget_crashes();
	if (curses->signals >= 0)
		close(curses->signals);
	curses->signals = -1;
	/* Signals that are still pending have their usual effect now. */
	fill_signals(&set);
	signal(SIGTSTP, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void suspend(void)
{
	sigset_t set;

	endwin();
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &set, NULL);
	clearok(stdscr, TRUE);
	refresh();
}

static void take_size(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(stdscr, TRUE);
}

int mf_curses_look(struct mf_curses *curses)
{
	struct signalfd_siginfo info;

	while (read(curses->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			suspend();
		else if (info.ssi_signo == SIGWINCH)
			take_size();
		else
			return (int)info.ssi_signo;
	}
	return 0;
}

void mf_curses_die(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

#endif
