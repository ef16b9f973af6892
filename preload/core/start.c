// SPDX-License-Identifier: GPL-2.0
// Initialisation before the first event.

#include "start.h"

typedef void (*first_event_function)(void);

/*
 * Bounds of the linker section that lists the functions to call before the first event (MF_AT_FIRST_EVENT). The linker
 * defines these symbols.
 */
extern const first_event_function __start_mf_at_first_event[] MF_HIDDEN;
extern const first_event_function __stop_mf_at_first_event[] MF_HIDDEN;

void mf_start_first(void)
{
	for (const first_event_function *next = __start_mf_at_first_event; next < __stop_mf_at_first_event; next++)
		(*next)();
}
