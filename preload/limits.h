/* SPDX-License-Identifier: GPL-2.0 */
/* The limit of address space (RLIMIT_AS), as the program knows it. */
#ifndef MASSIF_PRELOAD_LIMITS_H
#define MASSIF_PRELOAD_LIMITS_H

#include <stdbool.h>

/*
 * This process, or a child that shares its memory, is about to execute a program, or failed to: that
 * finds the limit that was asked for. In between, nobody can map anything.
 */
void mf_limits_executing(bool begins);

#endif
