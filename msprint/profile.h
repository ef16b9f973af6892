/* SPDX-License-Identifier: GPL-2.0 */
/* All of the input that the graph needs: the header and a few numbers of each snapshot. */
#ifndef MF_MSPRINT_PROFILE_H
#define MF_MSPRINT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "input.h"
#include "number.h"
#include "syntax.h"

struct mf_failure;

struct mf_snapshot {
	struct mf_number time;	/* in the header's unit */
	struct mf_number total;	/* heap + extra + stacks, bytes */
	bool has_tree;
	bool is_peak;		/* its index is the number that the last peak in the file has */
};

struct mf_profile {
	struct mf_header header;
	struct mf_snapshot *snapshots;
	size_t count;
	size_t room;
	struct mf_number largest;	/* total, at least 0, bytes */
};

#define MF_PROFILE_AUTO __attribute__((cleanup(mf_profile_deinit))) struct mf_profile

/* Reads and checks the whole input. On an error nothing of it is fit to be printed. */
int mf_profile_read(struct mf_profile *profile, struct mf_input *input,
		    struct mf_failure *failure);
void mf_profile_deinit(struct mf_profile *profile);

#endif
