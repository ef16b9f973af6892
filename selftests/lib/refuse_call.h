/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a system call fail. */
#ifndef MASSIF_SELFTESTS_REFUSE_CALL_H
#define MASSIF_SELFTESTS_REFUSE_CALL_H

#include <stdint.h>

/*
 * From now on, in this process and its descendants, system call @number fails with EACCES if its argument @argument,
 * counted from 0, has all of @bits; if @bits is 0, always. Returns 0, or non-zero if that is not possible.
 */
int refuse_call(uint32_t number, unsigned int argument, uint32_t bits);

#endif
