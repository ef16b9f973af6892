/* SPDX-License-Identifier: GPL-2.0 */
/* What a program that is executed must find in its environment to be followed: us, and massif-ctl. */
#ifndef MASSIF_PRELOAD_FOLLOW_H
#define MASSIF_PRELOAD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/* Programs are followed. @preload is the value of LD_PRELOAD, we first; @session MASSIF_SESSION's. */
void mf_follow_start(const char *preload, const char *session);
bool mf_follow_is_on(void);

/*
 * How many bytes mf_follow_add() needs at @room, which is aligned for pointers, to make an environment of
 * @environment that has both. 0: it has them, or nothing is followed. Neither allocates: the caller may be
 * a child that shares its parent's memory.
 */
size_t mf_follow_room(char *const *environment);
char *const *mf_follow_add(char *const *environment, void *room);

#endif
