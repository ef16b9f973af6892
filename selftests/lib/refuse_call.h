/* SPDX-License-Identifier: GPL-2.0 */
/* Makes system calls fail, or forbids them. */
#ifndef MASSIF_SELFTESTS_REFUSE_CALL_H
#define MASSIF_SELFTESTS_REFUSE_CALL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes system call @number fail with EACCES in this process and its descendants from now on, if all of @bits are set
 * in its argument @argument, counted from 0. If @bits is 0, the call always fails. Returns 0, or non-zero if that is
 * not possible.
 */
int refuse_call(uint32_t number, unsigned int argument, uint32_t bits);

#define FORBIDDEN_CALLS_MAX 32

#define ANY_ARGUMENT	    UINT32_MAX

/*
 * Makes each of the system calls @numbers end the process with SIGSYS, in this process and its descendants from now on, if
 * its first argument is @first, or always with ANY_ARGUMENT. Returns 0, or non-zero if that is not possible, as with more
 * than FORBIDDEN_CALLS_MAX of them.
 */
int forbid_calls(const uint32_t *numbers, size_t n, uint32_t first);

#endif
