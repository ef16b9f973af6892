// SPDX-License-Identifier: GPL-2.0
// A library for heap_no_rules.c. Its allocating functions have frame pointers but no FDE. The function after them has
// an FDE.

#include <stddef.h>

void *library_allocate(size_t size, void *(*allocate)(size_t));
int library_described(void);

/*
 * Puts the function @name into .text.unlikely, which the linker places before .text, so that it precedes all functions
 * that have an FDE.
 */
#define FUNCTION(name, call)                                         \
	".section .text.unlikely, \"ax\"\n"                          \
	".type " name ", @function\n" name ":\n"                     \
	"push %rbp\n"                                                \
	"mov %rsp, %rbp\n"                                           \
	"push %rdi\n"                                                \
	"push %rsi\n"                                                \
	call "\n"                                                    \
	"leave\n"                                                    \
	"ret\n"                                                      \
	".size " name ", . - " name "\n"                             \
	".previous\n"

__asm__(FUNCTION("allocate_inner", "call *%rsi"));
__asm__(FUNCTION("allocate_middle", "call allocate_inner"));
__asm__(".globl library_allocate\n" FUNCTION("library_allocate", "call allocate_middle"));

int library_described(void)
{
	return 1;
}
