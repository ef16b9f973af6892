/* SPDX-License-Identifier: GPL-2.0 */
/* Collects the data that massif.ko would record about this process: its mappings, registers and stack. */
#ifndef MASSIF_SELFTESTS_PAGES_SELF_H
#define MASSIF_SELFTESTS_PAGES_SELF_H

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
	struct mf_user_stack stack; /* describes a stack copy; its pointers refer to @regs and @bytes */
};

/* Fills @space from /proc/self/maps. Returns the number of mappings. */
unsigned int self_read_maps(struct mf_space *space, struct mf_files *files);

/* Fills @capture with the registers of @context and at most @max bytes of this thread's stack. */
void self_capture(struct self_capture *capture, const ucontext_t *context,
		  const struct mf_space *space, uint64_t max);

#endif
