/* SPDX-License-Identifier: GPL-2.0 */
/* The processes that still run when the program that massif-ctl launched has ended. */
#ifndef MASSIF_CTL_SURVIVOR_H
#define MASSIF_CTL_SURVIVOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Called for process @pid, whose command, perhaps cut short, is @title. */
typedef void mf_survivor_say(void *data, pid_t pid, const char *title);

/* Says that the profiles of @n processes end while these still run; nothing for 0. */
void mf_survivor_say_cut_off(size_t n);

struct mf_mode;
struct mf_run;

/*
 * Goes on with the profiles of the survivors until they have ended, and writes their files: here, if the
 * options say so, or in a child in the background. Returns in both processes, true in the one in which the
 * profiles are done with.
 */
bool mf_survivor_follow(struct mf_run *run, const struct mf_mode *mode);

#endif
