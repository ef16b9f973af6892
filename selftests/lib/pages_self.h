/* SPDX-License-Identifier: GPL-2.0 */
/* What massif.ko would tell of this very process: its mappings, registers and stack. */
#ifndef SELFTESTS_PAGES_SELF_H
#define SELFTESTS_PAGES_SELF_H

#include <stdint.h>
#include <ucontext.h>

#include "pages/files.h"
#include "pages/space.h"
#include "pages/unwind.h"

#define SELF_REGS_MAX  40
#define SELF_STACK_MAX (64u << 10)

struct self_capture {
	uint64_t regs[SELF_REGS_MAX];
	uint8_t bytes[SELF_STACK_MAX];
	struct mf_user_stack stack; /* points to the two above */
};

/* Fills @space from /proc/self/maps. Returns the number of mappings. */
unsigned int self_read_maps(struct mf_space *space, struct mf_files *files);

/* Makes @capture of a context of this thread and of its stack, at most @max bytes of it. */
void self_capture(struct self_capture *capture, const ucontext_t *context,
		  const struct mf_space *space, uint64_t max);

#endif
