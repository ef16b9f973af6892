// SPDX-License-Identifier: GPL-2.0
// Initialisation before the first event.

#include "start.h"

typedef void (*first_event_function)(void);

/* Bounds of the linker section that lists the registered functions; defined by the linker. */
extern const first_event_function __start_mf_at_first_event[] MF_HIDDEN;
extern const first_event_function __stop_mf_at_first_event[] MF_HIDDEN;

void mf_start_first(void)
{
	for (const first_event_function *next = __start_mf_at_first_event; next < __stop_mf_at_first_event; next++)
		(*next)();
}
