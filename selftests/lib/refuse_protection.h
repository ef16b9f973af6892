/* SPDX-License-Identifier: GPL-2.0 */
/* Makes mprotect() fail for some protections. */
#ifndef MASSIF_SELFTESTS_REFUSE_PROTECTION_H
#define MASSIF_SELFTESTS_REFUSE_PROTECTION_H

#include <stdint.h>

/*
 * From now on, in this process and its descendants, mprotect() with all of @bits (PROT_...) fails with EACCES.
 * Returns 0, or non-zero if that is not possible.
 */
int refuse_protection(uint32_t bits);

#endif
