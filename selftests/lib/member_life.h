/* SPDX-License-Identifier: GPL-2.0 */
/* The workload of the busy profiled process that member.c starts. */
#ifndef MASSIF_SELFTESTS_MEMBER_LIFE_H
#define MASSIF_SELFTESTS_MEMBER_LIFE_H

/* Function for kmod_session_call(); arg is a pointer to the profiled process's struct member_shared. */
int member_life(void *arg);

#endif
