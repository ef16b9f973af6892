/* SPDX-License-Identifier: GPL-2.0 */
/* Follows members through fork, exec and exit. */
#ifndef MASSIF_LIFECYCLE_H
#define MASSIF_LIFECYCLE_H

#include <linux/types.h>

#define MASSIF_LIFECYCLE_COUNT	3

struct massif_process;
struct massif_session;
struct massif_target;

/* A tracepoint and its probe function. */
struct massif_lifecycle_event {
	const char *name;
	void *probe;
};

extern const struct massif_lifecycle_event massif_lifecycle_events[MASSIF_LIFECYCLE_COUNT];

void massif_lifecycle_end(struct massif_process *process);
void massif_lifecycle_exit(struct massif_target *target);
void massif_lifecycle_abandon(struct massif_target *target);
void massif_lifecycle_hide(struct massif_target *target);
void massif_lifecycle_dismiss(struct massif_target *target);

/*
 * Functions with which a session that has more privileges takes over a process or target from another session. All are
 * called with massif_table_lock held, except massif_lifecycle_taken(), which is called without any lock.
 */
void massif_lifecycle_take(struct massif_process *process);
void massif_lifecycle_take_target(struct massif_target *target);
bool massif_lifecycle_may_join(const struct massif_session *session, const struct massif_target *target);
void massif_lifecycle_taken(struct massif_target *target);

#endif
