/* SPDX-License-Identifier: GPL-2.0 */
/* Processes come, change their program, and go. */
#ifndef MASSIF_LIFECYCLE_H
#define MASSIF_LIFECYCLE_H

#include <linux/types.h>

#define MASSIF_LIFECYCLE_COUNT	3

struct massif_session;

/* A tracepoint and who listens to it. */
struct massif_lifecycle_event {
	const char *name;
	void *probe;
};

extern const struct massif_lifecycle_event massif_lifecycle_events[MASSIF_LIFECYCLE_COUNT];

int massif_lifecycle_enrol(struct massif_session *session, u32 *id);

#endif
