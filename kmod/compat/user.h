/* SPDX-License-Identifier: GPL-2.0 */
/* Compares words in user memory without copying them. */
#ifndef MASSIF_COMPAT_USER_H
#define MASSIF_COMPAT_USER_H

#include <linux/uaccess.h>
#include <asm/asm.h>

/*
 * Jumps to the label differs if the word at addr does not equal value or cannot be read. For use between
 * user_access_begin() and user_access_end(), with page faults disabled.
 *
 * This takes three instructions. unsafe_get_user() would take six to ten: the compiler would load each word into a
 * register and, with versions of gcc for which the kernel does not combine outputs and jumps in one asm statement,
 * would also test an error code.
 */
#ifdef CONFIG_X86_64
#define massif_user_word_check(addr, value, differs)				\
	asm goto("1:	cmpq %0, %1\n"						\
		 "	jne %l2\n"						\
		 _ASM_EXTABLE_UA(1b, %l2)					\
		 : : "m" (*(const u64 __force *)(addr)), "r" ((u64)(value))	\
		 : "cc" : differs)
#else
#error "massif: no user words for this architecture yet"
#endif

#endif
