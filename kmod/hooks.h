/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks on mappings and processes, armed while a session exists. */
#ifndef MASSIF_HOOKS_H
#define MASSIF_HOOKS_H

#include <linux/types.h>

struct massif_hook_info;

int massif_hooks_get(char *dead, size_t size);
void massif_hooks_put(void);
u64 massif_hooks_missed(void);
int massif_hooks_describe(struct massif_hook_info *info);

#endif
