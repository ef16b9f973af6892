/* SPDX-License-Identifier: GPL-2.0 */
/* Continues the profiles of processes that are still running when the launched program ends. */
#ifndef MASSIF_CTL_SURVIVOR_H
#define MASSIF_CTL_SURVIVOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A callback that is called once for each profiled process that is still running. @pid is the process, @title its
 * command, possibly truncated.
 */
typedef void mf_survivor_say(void *data, pid_t pid, const char *title);

/* Reports that the profiles of @n processes end while the processes are still running; prints nothing if @n is 0. */
void mf_survivor_say_cut_off(size_t n);

struct mf_mode;
struct mf_run;

/*
 * Keeps profiling the surviving processes until they end, then writes their files. If --wait=yes, this process does so;
 * otherwise a background child does, and the function returns in both processes. Returns true in the process that has
 * completed the profiles.
 */
bool mf_survivor_follow(struct mf_run *run, const struct mf_mode *mode);

#endif
