/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds the environment for an executed program that is to be followed, including the variables that make it load the
 * shim and find massif-ctl.
 */
#ifndef MASSIF_PRELOAD_FOLLOW_H
#define MASSIF_PRELOAD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/* Starts following executed programs. @shim: its path, as in LD_PRELOAD; @session: value of MASSIF_SESSION. */
void mf_follow_start(const char *shim, const char *session);
bool mf_follow_is_on(void);

/*
 * Looks for the shim's file, which need not exist in the root directory that the process has now. Returns 0 or -errno.
 */
int mf_follow_find_shim(void);

/*
 * mf_follow_add() returns a copy of @environment in which massif-ctl's variables, LD_PRELOAD and MASSIF_SESSION, are
 * set. The copy is placed in @room, which must be pointer-aligned. mf_follow_room() returns the necessary size of @room
 * in bytes, or 0 if @environment should be used unchanged. Neither function allocates, since the caller may be a child
 * that shares its parent's memory. With @without, the program cannot load the shim, and the copy lacks the variables.
 */
size_t mf_follow_room(char *const *environment, bool without);
char *const *mf_follow_add(char *const *environment, void *room, bool without);

#endif
