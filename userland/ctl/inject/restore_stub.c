// SPDX-License-Identifier: GPL-2.0
// Code that a borrowed thread runs if massif-ctl is killed meanwhile.
//
// The stub is one block that runs at any address. It needs no memory of the thread's own stack, on which there may be no
// room, and from "3:" on changes no flags, so that a thread that has only this part to run keeps its own. Signals are
// blocked until the registers are nearly restored; a handler that runs then interrupts the stub like any other code.

#include "restore_stub.h"

#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "borrowed.h"
#include "moment.h"

#ifdef __x86_64__

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)
/* The @n-th member of struct mf_restore_data. */
#define DATA(n) "(mf_restore_stub_data + 8 * " #n ")(%rip)"

#define NUMBER_MUNMAP	   11
#define NUMBER_SIGPROCMASK 14
#define NUMBER_CLOSE	   3
#define STACK_BYTES	   0x80000
#define CODE_BYTES	   320

/*
 * If a thread is stopped in a system call that the kernel will restart, its rax has one of these values, negated. They are in
 * the kernel's include/linux/errno.h, which userland does not have.
 */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

_Static_assert(NUMBER_MUNMAP == SYS_munmap && NUMBER_SIGPROCMASK == SYS_rt_sigprocmask && NUMBER_CLOSE == SYS_close,
	       "numbers of system calls");
_Static_assert(STACK_BYTES == MF_BORROWED_STACK, "size of the stack");
_Static_assert(offsetof(struct mf_restore_data, rsp) == 8 * 6 && offsetof(struct mf_restore_data, rip) == 8 * 16 &&
		       CODE_BYTES + sizeof(struct mf_restore_data) == MF_RESTORE_STUB_MAX &&
		       offsetof(struct mf_restore_data, mask) == 8 * 18 &&
		       offsetof(struct mf_restore_data, descriptor) == 8 * 23 && sizeof(struct mf_restore_data) == 8 * 24,
	       "order of the data");

__asm__(".pushsection .rodata, \"a\", @progbits\n"
	".balign 16\n"
	"mf_restore_stub:\n"
	/* A function has returned. A system call without effect, at which massif-ctl stops the thread. */
	"mf_restore_stub_returned:\n"
	"	mov %rax, %rbx\n"
	"	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $" TEXT(NUMBER_SIGPROCMASK) ", %eax\n"
	"	syscall\n"
	"mf_restore_stub_after_returned:\n"
	"	jmp 2f\n"
	"mf_restore_stub_call:\n"
	"	syscall\n"
	"2:	mov " DATA(23) ", %rdi\n"
	"	mov $" TEXT(NUMBER_CLOSE) ", %eax\n"
	"	syscall\n"
	"	mov " DATA(21) ", %rcx\n"
	"	mov " DATA(20) ", %eax\n"
	"	mov %eax, (%rcx)\n"
	"	mov " DATA(19) ", %rbx\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xrstor64 (%rbx)\n"
	"	pushq " DATA(17) "\n"
	"	popfq\n"
	"	mov " DATA(22) ", %rdi\n"
	"	jmp 3f\n"
	"mf_restore_stub_map:\n"
	"	syscall\n"
	"	mov %rax, %rdi\n"
	"3:	mov " DATA(0) ", %rbx\n"
	"	mov " DATA(1) ", %rbp\n"
	"	mov " DATA(2) ", %r12\n"
	"	mov " DATA(3) ", %r13\n"
	"	mov " DATA(4) ", %r14\n"
	"	mov " DATA(5) ", %r15\n"
	"	mov " DATA(6) ", %rsp\n"
	"	mov $" TEXT(STACK_BYTES) ", %esi\n"
	"	mov $" TEXT(NUMBER_MUNMAP) ", %eax\n"
	"mf_restore_stub_unmap:\n"
	"	syscall\n"
	"	mov $2, %edi\n" /* SIG_SETMASK */
	"	lea " DATA(18) ", %rsi\n"
	"	mov $0, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $" TEXT(NUMBER_SIGPROCMASK) ", %eax\n"
	"	syscall\n"
	"	mov " DATA(7) ", %rax\n"
	"	mov " DATA(8) ", %rcx\n"
	"	mov " DATA(9) ", %rdx\n"
	"	mov " DATA(10) ", %rsi\n"
	"	mov " DATA(11) ", %rdi\n"
	"	mov " DATA(12) ", %r8\n"
	"	mov " DATA(13) ", %r9\n"
	"	mov " DATA(14) ", %r10\n"
	"	mov " DATA(15) ", %r11\n"
	"	jmp *" DATA(16) "\n"
	/* An error if the code is too long. */
	"	.org mf_restore_stub + " TEXT(CODE_BYTES) "\n"
	"mf_restore_stub_data:\n"
	"	.globl mf_restore_entries\n"
	"mf_restore_entries:\n"
	"	.long mf_restore_stub_map - mf_restore_stub\n"
	"	.long mf_restore_stub_call - mf_restore_stub\n"
	"	.long mf_restore_stub_unmap - mf_restore_stub\n"
	"	.long mf_restore_stub_returned - mf_restore_stub\n"
	"	.long mf_restore_stub_after_returned - mf_restore_stub\n"
	".popsection\n");

extern const uint8_t code[CODE_BYTES] __asm__("mf_restore_stub") __attribute__((visibility("hidden")));

/* Makes an interrupted system call start again, as the kernel does it if no handler of a signal runs. */
static void restart(struct mf_restore_data *data, const struct user_regs_struct *regs)
{
	if ((int64_t)regs->orig_rax < 0)
		return;
	switch (-(int64_t)regs->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		data->rax = regs->orig_rax;
		data->rip = regs->rip - 2;
		break;
	case ERESTART_RESTARTBLOCK:
		data->rax = SYS_restart_syscall;
		data->rip = regs->rip - 2;
		break;
	}
}

void mf_restore_stub_make(uint8_t stub[static MF_RESTORE_STUB_MAX], const struct user_regs_struct *regs, uint64_t mask)
{
	struct mf_restore_data data = {
		.rbx = regs->rbx, .rbp = regs->rbp, .r12 = regs->r12, .r13 = regs->r13, .r14 = regs->r14, .r15 = regs->r15,
		.rsp = regs->rsp, .rax = regs->rax, .rcx = regs->rcx, .rdx = regs->rdx, .rsi = regs->rsi, .rdi = regs->rdi,
		.r8 = regs->r8, .r9 = regs->r9, .r10 = regs->r10, .r11 = regs->r11, .rip = regs->rip,
		.flags = regs->eflags, .mask = mask,
		/* An address that munmap(2) refuses, and a descriptor that close(2) does. */
		.stack = 1, .descriptor = (uint64_t)-1,
	};

	restart(&data, regs);
	memcpy(stub, code, sizeof(code));
	memcpy(stub + sizeof(code), &data, sizeof(data));
}

/*
 * Can the stub be written over these bytes: do they only fill a page up? Or are they a stub that an attach has left there
 * that was killed, or, since stubs are written from their start and removed from their end, the beginning of one?
 */
static bool is_room(const struct mf_tracee *tracee, uint64_t at, const uint8_t bytes[static MF_RESTORE_STUB_MAX])
{
	size_t n = 0;

	while (n < sizeof(code) && !memcmp(bytes + n, code + n, 8))
		n += 8;
	if (n < sizeof(code) && ((bytes[n] != 0 && bytes[n] != 0x90 && bytes[n] != 0xcc) ||
				 memcmp(bytes + n, bytes + n + 1, MF_RESTORE_STUB_MAX - n - 1)))
		return false;
	return !n || mf_moment_is_clear_of(tracee, at, at + MF_RESTORE_STUB_MAX);
}

uint64_t mf_restore_stub_place(const struct mf_tracee *tracee, const uint64_t *rooms, size_t n)
{
	uint8_t bytes[MF_RESTORE_STUB_MAX];

	for (size_t i = 0; i < n; i++)
		if (mf_tracee_read(tracee->pid, rooms[i], bytes, sizeof(bytes)) && is_room(tracee, rooms[i], bytes))
			return rooms[i];
	return 0;
}

#endif
