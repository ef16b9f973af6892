/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the environment with which an executed program is followed: it loads the shim and finds massif-ctl. */
#ifndef MASSIF_PRELOAD_FOLLOW_H
#define MASSIF_PRELOAD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/* Starts following executed programs. @preload: value of LD_PRELOAD, the shim first; @session: of MASSIF_SESSION. */
void mf_follow_start(const char *preload, const char *session);
bool mf_follow_is_on(void);

/*
 * mf_follow_add() returns @environment with both variables set, made in @room, which must be aligned for pointers and
 * have as many bytes as mf_follow_room() returned. 0 bytes: @environment can be used as it is. Neither function
 * allocates, since the caller may be a child that shares its parent's memory.
 */
size_t mf_follow_room(char *const *environment);
char *const *mf_follow_add(char *const *environment, void *room);

#endif
