/* SPDX-License-Identifier: GPL-2.0 */
/* The running profiles from which the user chooses one. */
#ifndef MASSIF_CTL_PICKER_H
#define MASSIF_CTL_PICKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "ctl/control/client.h"
#include "view.h"

/* Zero-initialise it. */
struct mf_picker {
	struct mf_profiled_list list;
	size_t chosen; /* number of the item that is marked */
	int64_t read_at; /* when the list was read; see mf_live_now_ms() */
};

/* Reads the list again, and keeps the mark at the same process. Returns 0 or -errno. */
int mf_picker_read(struct mf_picker *picker, struct mf_error *err);

/* Moves the mark by so many items. */
void mf_picker_move(struct mf_picker *picker, int by);

/* Returns the item that is marked, or NULL if there is none. */
const struct mf_profiled *mf_picker_chosen(const struct mf_picker *picker);

/* Draws the list on the whole screen but its last line. */
void mf_picker_draw(const struct mf_picker *picker, const struct mf_live_view *view);

void mf_picker_deinit(struct mf_picker *picker);

#endif
