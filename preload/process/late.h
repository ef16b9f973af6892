/* SPDX-License-Identifier: GPL-2.0 */
/* Starts the shim in a process that already runs (massif-ctl attach --heap). */
#ifndef MASSIF_PRELOAD_LATE_H
#define MASSIF_PRELOAD_LATE_H

#include <stdbool.h>

/* Has massif-ctl attach loaded this copy of the shim into a process that already ran? */
bool mf_late_is_wanted(void);

/* Prepares the session; called by the shim's constructor. The answer is in the struct that protocol/late.h describes. */
void mf_late_start(void);

#endif
