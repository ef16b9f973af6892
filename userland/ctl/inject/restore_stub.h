/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code that a borrowed thread runs if massif-ctl is killed while it has changed the thread's registers: it puts back what
 * the thread had before, and continues there. massif-ctl writes it into the process before it changes anything.
 *
 * The kernel would do the same for a frame of a signal handler (rt_sigreturn(2)), but would then let an interrupted
 * nanosleep() or poll() fail with EINTR.
 */
#ifndef MASSIF_CTL_RESTORE_STUB_H
#define MASSIF_CTL_RESTORE_STUB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "tracee.h"

/* The values that the stub restores. The code in restore_stub.c uses the offsets of the members. */
struct mf_restore_data {
	uint64_t rbx, rbp, r12, r13, r14, r15, rsp;
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rip;
	uint64_t flags, mask;
	uint64_t state;	      /* address of the processor's extended state, as XRSTOR reads it */
	uint64_t errno_value; /* in the lower four bytes */
	uint64_t errno_at;    /* address of the thread's errno, or of four bytes that nothing uses */
	uint64_t stack;	      /* address of the borrowed stack */
	uint64_t descriptor;  /* is closed; -1: none */
};

/* The stub: code, then a struct mf_restore_data. */
#define MF_RESTORE_STUB_MAX 512u

/*
 * Offsets of system call instructions and of entries. After each, the thread restores itself, so massif-ctl need only
 * stop it there and set its registers anew.
 */
struct mf_restore_entries {
	unsigned int map;      /* a system call on the program's own stack; what it has mapped is unmapped */
	unsigned int call;     /* a system call on the borrowed stack */
	unsigned int unmap;    /* one on the program's own stack that unmaps the borrowed one */
	unsigned int returned; /* reached when a function returns; the result is in rbx at the system call that follows */
	unsigned int after_returned; /* the end of that system call instruction */
};

extern const struct mf_restore_entries mf_restore_entries;

/* Fills in the stub for a thread that was stopped with registers @regs and mask @mask. */
void mf_restore_stub_make(uint8_t stub[static MF_RESTORE_STUB_MAX], const struct user_regs_struct *regs, uint64_t mask);

/*
 * Returns an address among @rooms, in the padding of the process's code, at which the stub can be written; 0 if there is
 * none. Context: all threads of @tracee are stopped.
 */
uint64_t mf_restore_stub_place(const struct mf_tracee *tracee, const uint64_t *rooms, size_t n);

/* Returns the offset of a member of struct mf_restore_data in the stub. */
#define MF_RESTORE_STUB_OFFSET(member) \
	(MF_RESTORE_STUB_MAX - sizeof(struct mf_restore_data) + offsetof(struct mf_restore_data, member))

#endif
