/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a system call fail. */
#ifndef MASSIF_SELFTESTS_REFUSE_CALL_H
#define MASSIF_SELFTESTS_REFUSE_CALL_H

#include <stdint.h>

/*
 * Makes system call @number fail with EACCES in this process and its descendants from now on, if all of @bits are set
 * in its argument @argument, counted from 0. If @bits is 0, the call always fails. Returns 0, or non-zero if that is
 * not possible.
 */
int refuse_call(uint32_t number, unsigned int argument, uint32_t bits);

#endif
