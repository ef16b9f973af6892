/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that see pages become resident: armed while a session wants to know. */
#ifndef MASSIF_FAULT_H
#define MASSIF_FAULT_H

#include <linux/types.h>

int massif_fault_get(char *dead, size_t size);
void massif_fault_put(void);

#endif
