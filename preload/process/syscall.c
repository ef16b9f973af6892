// SPDX-License-Identifier: GPL-2.0
// Wraps syscall(2), so that programs executed through it are followed like others, and restrictions set through it are
// noticed.
//
// All other calls are passed on with a jump, so that they return directly to the caller. This matters for system calls
// that create a process sharing its parent's stack, such as vfork: the shim must not have a frame on that stack.

#include "syscall.h"

#include <sys/syscall.h>

#include "core/bare.h"
#include "exec.h"
#include "core/real.h"

#ifdef __x86_64__

_Static_assert(SYS_execve == 59 && SYS_execveat == 322 && SYS_prctl == 157 && SYS_seccomp == 317,
	       "the numbers in the code below");

/*
 * The function to which the shim's syscall() passes calls that it does not handle itself: the C library's syscall() or,
 * until its address is known, __wrap_syscall().
 */
long (*mf_syscall_next)(long number, ...) MF_HIDDEN = (long (*)(long, ...))(void (*)(void))__wrap_syscall;

long mf_syscall_execute(long number, long a, long b, long c, long d, long e) MF_HIDDEN;

__attribute__((used)) long mf_syscall_execute(long number, long a, long b, long c, long d, long e)
{
	if (number == SYS_execve)
		return mf_exec_path((const char *)a, (char *const *)b, (char *const *)c);
	return mf_exec_at((int)a, (const char *)b, (char *const *)c, (char *const *)d, (int)e);
}

__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	cmp	$59, %rdi\n"
	"	je	mf_syscall_execute\n"
	"	cmp	$322, %rdi\n"
	"	je	mf_syscall_execute\n"
	"	cmp	$157, %rdi\n"
	"	je	mf_seccomp_call\n"
	"	cmp	$317, %rdi\n"
	"	je	mf_seccomp_call\n"
	"	jmp	*mf_syscall_next(%rip)\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");

void mf_syscall_start(void)
{
	mf_syscall_next = mf_real_functions.syscall;
}

#else

void mf_syscall_start(void)
{
}

#endif
