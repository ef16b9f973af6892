/* SPDX-License-Identifier: GPL-2.0 */
/* Continues the profiles of processes that still run when the launched program has ended. */
#ifndef MASSIF_CTL_SURVIVOR_H
#define MASSIF_CTL_SURVIVOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Called for process @pid. @title is its command, possibly cut short. */
typedef void mf_survivor_say(void *data, pid_t pid, const char *title);

/* Reports that the profiles of @n processes end while these still run; prints nothing for 0. */
void mf_survivor_say_cut_off(size_t n);

struct mf_mode;
struct mf_run;

/*
 * Continues the profiles of the surviving processes until these end, and writes their files: in this process if
 * --wait=yes, otherwise in a child in the background. Returns in both processes, true in the one that has
 * finished the profiles.
 */
bool mf_survivor_follow(struct mf_run *run, const struct mf_mode *mode);

#endif
