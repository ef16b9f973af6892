// SPDX-License-Identifier: GPL-2.0
// The running profiles from which the user chooses one.

#include "picker.h"

#ifdef MASSIF_HAS_NCURSES

#include <curses.h>
#include <string.h>

#include "ctl/message/quantity.h"
#include "reader.h"

/* A process that does not answer must not keep the user waiting: the list is soon read again. */
#define PATIENCE_MS 300

int mf_picker_read(struct mf_picker *picker, struct mf_error *err)
{
	const struct mf_profiled *before = mf_picker_chosen(picker);
	pid_t pid = before ? before->pid : 0;
	struct mf_profiled_list list;
	int code = mf_ask_list(&list, PATIENCE_MS, err);

	picker->read_at = mf_live_now_ms();
	if (code)
		return code;
	mf_ask_free(&picker->list);
	picker->list = list;
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].pid == pid)
			picker->chosen = i;
	mf_picker_move(picker, 0);
	return 0;
}

void mf_picker_move(struct mf_picker *picker, int by)
{
	size_t count = picker->list.count;

	if (by < 0)
		picker->chosen = picker->chosen > (size_t)-by ? picker->chosen - (size_t)-by : 0;
	else
		picker->chosen += (size_t)by;
	if (picker->chosen >= count)
		picker->chosen = count ? count - 1 : 0;
}

const struct mf_profiled *mf_picker_chosen(const struct mf_picker *picker)
{
	return picker->chosen < picker->list.count ? &picker->list.items[picker->chosen] : NULL;
}

void mf_picker_draw(const struct mf_picker *picker, const struct mf_live_view *view)
{
	size_t rows = (size_t)LINES > 4 ? (size_t)LINES - 4 : 1;
	size_t first = picker->chosen >= rows ? picker->chosen - rows + 1 : 0;
	char text[4096], fitted[4096];

	mf_live_view_fit(view, fitted, sizeof(fitted), "massif-ctl top: choose a profile", (size_t)COLS);
	attron(A_BOLD);
	mvaddstr(0, 0, fitted);
	attroff(A_BOLD);
	snprintf(text, sizeof(text), "%8s %-6s %10s %10s  %s", "PID", "MODE", "LIVE", "TIME", "COMMAND");
	mf_live_view_fit(view, fitted, sizeof(fitted), text, (size_t)COLS);
	attron(A_REVERSE);
	mvprintw(2, 0, "%-*s", COLS, fitted);
	attroff(A_REVERSE);
	if (!picker->list.count)
		mvaddnstr(3, 0, "no profile is running", COLS);
	for (size_t i = first; i < picker->list.count && i < first + rows; i++) {
		const struct mf_profiled *item = &picker->list.items[i];
		const char *slash = memrchr(item->cmd, '/', strcspn(item->cmd, " "));

		/* Directories would leave no room for the name. */
		snprintf(text, sizeof(text), "%8d %-6s %10s %10s  %.2000s", (int)item->pid, item->mode,
			 mf_quantity_bytes(item->bytes).text, mf_quantity_time(item->ms, MF_TIME_MS).text,
			 slash ? slash + 1 : item->cmd);
		mf_live_view_fit(view, fitted, sizeof(fitted), text, (size_t)COLS - 1);
		if (i == picker->chosen)
			attron(A_REVERSE);
		mvaddstr(3 + (int)(i - first), 0, fitted);
		attroff(A_REVERSE);
	}
}

void mf_picker_deinit(struct mf_picker *picker)
{
	mf_ask_free(&picker->list);
}

#endif
