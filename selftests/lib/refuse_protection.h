/* SPDX-License-Identifier: GPL-2.0 */
/* Makes mprotect() fail for some protections. */
#ifndef MASSIF_SELFTESTS_REFUSE_PROTECTION_H
#define MASSIF_SELFTESTS_REFUSE_PROTECTION_H

#include <stdint.h>

/*
 * Makes mprotect() fail with EACCES in this process and its descendants if the protection includes all of @bits
 * (PROT_...). Returns 0, or non-zero if that is not possible.
 */
int refuse_protection(uint32_t bits);

#endif
