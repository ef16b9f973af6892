/* SPDX-License-Identifier: GPL-2.0 */
/* A machine on which memory may not be what it wants to be. */
#ifndef SELFTESTS_LIB_REFUSE_PROTECTION_H
#define SELFTESTS_LIB_REFUSE_PROTECTION_H

#include <stdint.h>

/*
 * From now on, in this process and what comes of it, mprotect() with all of @bits (PROT_...) fails with
 * EACCES. Returns 0, or not if that cannot be had.
 */
int refuse_protection(uint32_t bits);

#endif
