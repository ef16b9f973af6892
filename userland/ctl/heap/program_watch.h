/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Detects that a profiled process has executed a program that cannot be profiled, without having announced it, where
 * space_watch.h does not report the end of the address space, or reports it only once. The process's mappings are looked
 * at again and again, at intervals that grow from 1 ms to 500 ms.
 */
#ifndef MASSIF_CTL_PROGRAM_WATCH_H
#define MASSIF_CTL_PROGRAM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "process.h"

/* Schedules the next look at whether @process is still running the same program. */
void mf_program_watch_later(struct mf_heap_process *process);

/* Returns whether a look is due at @now, which is from mf_timekeeper_now(). */
bool mf_program_watch_is_due(const struct mf_heap_process *process, int64_t now);

/*
 * Looks at @process, which does not map the page that it should share with massif-ctl, and schedules the next look. There
 * are three possible causes: the process ended; it executed another program, which will soon join if the shim is loaded
 * into it; or the page could not be created or mapped. If the process runs a program that cannot be profiled, tells the
 * user so and removes the process from the list @processes: the caller must not use it, nor the next one, any more.
 */
void mf_program_watch_look(struct mf_heap_process **processes, struct mf_heap_process *process);

/* Tells the user that no file is written for @process, because it executed a program that cannot be profiled. */
void mf_program_watch_say(const struct mf_heap_process *process);

#endif
