// SPDX-License-Identifier: GPL-2.0
// Standard output as a terminal: its width, its colours, its characters, and a pager for long texts.

#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "base/standard_output.h"

#define WIDTH_USUAL 80
#define WIDTH_LEAST 40
#define LEFT_LEAST  20 /* for a name after the numbers of a row */

const char *mf_terminal_bold(const struct mf_terminal *terminal)
{
	return terminal->colours ? "\033[1m" : "";
}

const char *mf_terminal_plain(const struct mf_terminal *terminal)
{
	return terminal->colours ? "\033[0m" : "";
}

static unsigned int width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long number = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;

	if (!number && !ioctl(fd, TIOCGWINSZ, &size))
		number = size.ws_col;
	if (!number || number > 10000)
		number = WIDTH_USUAL;
	return number < WIDTH_LEAST ? WIDTH_LEAST : (unsigned int)number;
}

static const char *choose_pager(void)
{
	const char *pager = getenv("MASSIF_PAGER");

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		pager = "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* Starts the pager; if that fails, the text goes to standard output. */
static void start_pager(struct mf_terminal *terminal)
{
	const char *pager = choose_pager();
	int pipes[2];
	FILE *out;

	if (!pager || pipe2(pipes, O_CLOEXEC))
		return;
	out = fdopen(pipes[1], "w");
	if (!out) {
		close(pipes[0]);
		close(pipes[1]);
		return;
	}
	fflush(stdout);
	terminal->pager = fork();
	if (!terminal->pager) {
		dup2(pipes[0], STDIN_FILENO);
		/* As git does: less ends if the text fits on the screen, and shows colours. */
		setenv("LESS", "FRX", 0);
		execlp("sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(pipes[0]);
	if (terminal->pager < 0) {
		fclose(out);
		terminal->pager = 0;
		return;
	}
	terminal->out = out;
	/* If the pager is left early, the rest is not printed. */
	signal(SIGPIPE, SIG_IGN);
}

void mf_terminal_open(struct mf_terminal *terminal)
{
	const char *no_colour = getenv("NO_COLOR"), *type = getenv("TERM");
	bool is_terminal = isatty(STDOUT_FILENO);

	setlocale(LC_CTYPE, "");
	*terminal = (struct mf_terminal){
		.out = stdout,
		.width = width_of(STDOUT_FILENO),
		.colours = is_terminal && !(no_colour && *no_colour) && type && strcmp(type, "dumb") != 0,
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
	if (is_terminal)
		start_pager(terminal);
}

int mf_terminal_close(struct mf_terminal *terminal, struct mf_error *err)
{
	if (terminal->pager) {
		fclose(terminal->out);
		while (waitpid(terminal->pager, NULL, 0) < 0 && errno == EINTR)
			;
		return 0;
	}
	return mf_standard_output_finish(err);
}

unsigned int mf_terminal_left(const struct mf_terminal *terminal, unsigned int used)
{
	return terminal->width > used + LEFT_LEAST ? terminal->width - used : LEFT_LEAST;
}

unsigned int mf_terminal_print_cut(const struct mf_terminal *terminal, const char *text, unsigned int columns)
{
	const char *dots = terminal->utf8 ? "\u2026" : "~";
	size_t length = strlen(text), keep = 0;
	unsigned int used = 0, kept = 0;
	mbstate_t state = { 0 };

	/* @keep bytes, @kept columns: the longest beginning after which there is room for the dots. */
	for (size_t at = 0; at < length;) {
		wchar_t c;
		size_t n = mbrtowc(&c, text + at, length - at, &state);
		int wide = 1;

		if (n == (size_t)-1 || n == (size_t)-2) {
			memset(&state, 0, sizeof(state));
			n = 1;
		} else {
			wide = wcwidth(c);
		}
		used += wide > 0 ? (unsigned int)wide : 0;
		if (used > columns) {
			fprintf(terminal->out, "%.*s%s", (int)keep, text, dots);
			return kept + 1;
		}
		at += n ? n : 1;
		if (used < columns) {
			keep = at;
			kept = used;
		}
	}
	fputs(text, terminal->out);
	return used;
}

void mf_terminal_print_wrapped(const struct mf_terminal *terminal, const char *text)
{
	size_t width = terminal->width > 20 ? terminal->width : 20, used = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (used && used + 1 + length > width) {
			fputs("\n ", terminal->out);
			used = 1;
		}
		if (used) {
			putc(' ', terminal->out);
			used++;
		}
		fwrite(text, 1, length, terminal->out);
		used += length;
		text += length;
		text += *text == ' ';
	}
	putc('\n', terminal->out);
}
