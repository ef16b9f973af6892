/* SPDX-License-Identifier: GPL-2.0 */
/* Detours: ftrace direct calls that route calls to hooked functions through wrappers in this module. */
#ifndef MASSIF_DETOUR_H
#define MASSIF_DETOUR_H

#include <linux/types.h>

int massif_detour_arm(void);
void massif_detour_disarm(void);
int massif_detour_arm_fault(void);
void massif_detour_disarm_fault(void);
void massif_detour_exit(void);

#endif
