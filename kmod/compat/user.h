/* SPDX-License-Identifier: GPL-2.0 */
/* Words of user memory, compared where they lie. */
#ifndef MASSIF_COMPAT_USER_H
#define MASSIF_COMPAT_USER_H

#include <linux/uaccess.h>
#include <asm/asm.h>

/*
 * Goes to differs if the word at addr is not value, or cannot be read. Within user_access_begin() and
 * _end(), with page faults disabled.
 *
 * With unsafe_get_user() the compiler brings each word into a register of its own choice and, where it
 * cannot tell a result and a jump from one another (gcc before 13), tests an error code besides: six
 * to ten instructions for what three can do.
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
