// SPDX-License-Identifier: GPL-2.0
// Tracks the code and the unwind rules that unwinding has read, to detect when results derived from them are stale.

#include "pages/code.h"

#include <stdlib.h>

void mf_code_deinit(struct mf_code *code)
{
	free(code->ranges);
	*code = (struct mf_code){0};
}

void mf_code_note(struct mf_code *code, uint64_t start, uint64_t end)
{
	struct mf_code_range *more;

	for (size_t i = 0; i < code->n_ranges; i++)
		if (code->ranges[i].start <= start && end <= code->ranges[i].end)
			return;
	more = realloc(code->ranges, (code->n_ranges + 1) * sizeof(*more));
	if (!more) {
		code->left = true;
		return;
	}
	code->ranges = more;
	more[code->n_ranges++] = (struct mf_code_range){start, end};
}

void mf_code_unmap(struct mf_code *code, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < code->n_ranges && !code->left; i++)
		code->left = start < code->ranges[i].end && code->ranges[i].start < end;
}

bool mf_code_take_left(struct mf_code *code)
{
	bool left = code->left;

	if (left)
		code->n_ranges = 0;
	code->left = false;
	return left;
}
