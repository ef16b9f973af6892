/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The protocol between massif.ko and its consumer in user space: ioctls, ring, records. */
#ifndef _UAPI_LINUX_MASSIF_H
#define _UAPI_LINUX_MASSIF_H

/*
 * One open of /dev/massif is one session.
 *
 *	fd = open("/dev/massif", O_RDWR | O_CLOEXEC);
 *	ioctl(fd, MASSIF_IOC_QUERY, &query);		what is this module?
 *	ioctl(fd, MASSIF_IOC_SETUP, &setup);		once: ring made, hooks armed
 *	ioctl(fd, MASSIF_IOC_TEST, &test);		hooks tried
 *	control  = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0 * page);
 *	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 * page);
 *	data     = mmap(NULL, setup.ring_bytes, PROT_READ, MAP_SHARED, fd, 2 * page);
 *	fork; in the child: ioctl(fd, MASSIF_IOC_ENROL, &enrol); exec (which closes the fd)
 *	in the parent: poll, read records, advance the tail; close ends everything
 *	or, for a process that runs already: ioctl(fd, MASSIF_IOC_ATTACH, &attach)
 *
 * Ioctls. Every argument starts with its own size; a size other than sizeof, an unknown flag or a
 * pad field that is not zero is EINVAL. A call before SETUP that needs a ring is ENXIO, a second
 * SETUP is EBUSY, an ABI number the module does not speak is EPROTONOSUPPORT.
 *
 * The ring. The control page and the data area can only be mapped for reading; the consumer page
 * is the only one that can be written. The data area is a circle of control->data_bytes (a power
 * of two). Positions count bytes and never wrap: the byte of position p is data[p % data_bytes].
 * The module adds whole records at head; the consumer reads while tail != head (load head with
 * acquire) and then stores the new tail (with release). A record is never split: where one does
 * not fit before the end of the circle, a MASSIF_REC_PAD (only type and size are valid in it; it
 * can be as short as eight bytes) leads to the start. The module keeps its own head and checks
 * the tail: a tail that cannot be right counts as a full ring. The program under observation
 * never waits for the consumer.
 *
 * Waiting. poll() says POLLIN when at least consumer->watermark bytes are unread (0 and 1 both
 * mean any record), or when an urgent record is (EXIT, END, LOST of what was not seen). It says
 * POLLHUP when at least one process was enrolled, and now no process and no target is left: read
 * the ring to its end once more and be done. The wake-up is asynchronous: also look at the ring
 * by a timeout of your own.
 *
 * Order. Ring order is the order of things; seq counts it. A record about a mapping is written
 * while the lock of that address space (mmap_lock) is held, so that replaying the records of a
 * target in ring order gives the mappings of the target. seq has a gap where records were lost,
 * and only there. time_ns is CLOCK_MONOTONIC.
 *
 * Targets. A target is an address space (not a process: vfork and CLONE_VM share one, exec makes
 * a new one). Its number is never used twice in a session; 0 is none. tid is the thread that
 * caused the record, in the pid namespace of the opener.
 *
 *	ENROL	target of a process that enrolled itself. RESYNC follows.
 *	ATTACH	target of a process that runs already and was attached to. Records of its changes
 *		may come before the RESYNC of reason ATTACH, and hold.
 *	FORK	a member of the session forked. child is a new target, RESYNC follows before the
 *		child runs; or child == parent target, when they share the address space.
 *	EXEC	the process has a new address space and target: RESYNC follows before it runs. The
 *		old one has usually said EXIT already; it lives on if another process shares it
 *		(vfork).
 *	ARGS	the arguments of the program that EXEC told of; before it runs, and left out if
 *		they cannot be read.
 *	EXIT	the address space is about to be torn down: last record of the target; total_vm is
 *		that of its last moment (with MASSIF_RF_NO_TOTAL: not told). No capture of the target is outstanding afterwards.
 *	END	the process left the session (reason: it executed a set-uid program, ...).
 *
 * Accounting. total_vm is in pages: the sum over the target's mappings with this record applied.
 * It holds for each MAP, UNMAP, last RESYNC_END and EXIT record when the target is in sync: from a
 * RESYNC_END with MASSIF_RESYNC_LAST on, up to a LOST. A RESYNC_END that is not the last of its list
 * has MASSIF_RF_NO_TOTAL.
 *
 *	MAP	[addr, addr + len) is mapped now; whatever was there before is replaced (there was
 *		nothing: the module reports the UNMAP of it first).
 *	UNMAP	nothing is mapped in [addr, addr + len) any more; parts of it may not have been
 *		mapped.
 *	NAME	what the MAP at the same address before it maps, for file mappings
 *		(MASSIF_PROT_FILE); it precedes the thread's return to user mode. Layout of VMA.
 *	RESYNC_BEGIN, VMA..., RESYNC_END
 *		the truth about [start, end) of both: exactly the VMAs listed are mapped, cut at
 *		start and end. Written in one go: nothing is between them. A large address space
 *		comes in parts, from low to high addresses; the last has MASSIF_RESYNC_LAST.
 *		Records of changes may come between parts and hold. A target is in sync after a
 *		complete series, FIRST to LAST.
 *	LOST	count records could not be written (or, reason MISSED and UNSEEN: changes were not
 *		seen, count is a lower bound), of the target, whose next record it precedes. With
 *		target 0: for MISSED of all; for ROOM of targets that are gone, or of none; those
 *		that live have lost nothing. A RESYNC of the targets follows by itself when they
 *		run again and there is room; MASSIF_IOC_RESYNC makes it happen now.
 *
 * Protection in MAP, VMA and NAME is as of the record; mprotect is not reported.
 *
 * Stacks. A record with capture != 0 and without MASSIF_RF_KNOWN is explained by the STACK record
 * of the same capture number, which follows before the thread returns to user mode; several records
 * of one system call share one. It has the thread's user registers in DWARF order and the bytes of
 * the stack from the stack pointer up: to the end of that mapping, the session's max_stack_bytes or
 * the first byte that could not be read; on the first thread's stack not beyond its argc. A STACK
 * without bytes says why in its flags. capture is 0 in an UNMAP, and where there is no user stack
 * that caused the record: MASSIF_RF_EXTERNAL (another address space's thread did it: ptrace, a
 * kernel worker), MASSIF_RF_IN_EXEC, MASSIF_RF_NO_CAPTURE (no memory, or a full ring; counted), or
 * nobody in particular. STACK records take three quarters of the ring at most, so that bytes of
 * stacks do not displace what accounting needs: beyond that they come with MASSIF_STACK_LIMITED,
 * registers and no bytes, and are counted.
 *
 * Known stacks. Equal stacks need not be copied again. Of a stack that it has unwound, the consumer
 * tells by MASSIF_IOC_KNOWN all that the walk depended on: program counter, stack pointer, the
 * other registers, the words of the stack that it read; and a number of its own for it. When a
 * record is due and the thread's registers and memory agree with all of that, then a walk would
 * give the same again: the record has that number as its capture, MASSIF_RF_KNOWN in its flags, and
 * no STACK follows. It is not a guess, as long as the code that was unwound through is the same:
 * when executable code of a target is unmapped, or a change of it was not seen, the module forgets
 * what is known of the target. code_gen in a STACK, handed back with what is known, counts these
 * times, so that knowledge that comes too late is never used. What the consumer tells wrong can only
 * make its own records wrong. The module may forget at any time; the consumer sees a STACK then. A
 * STACK itself can be short, too: where known is not 0, it has nothing but that number (with
 * MASSIF_SETUP_VERIFY it has all, and the records that it explains have no MASSIF_RF_KNOWN).
 *
 * Resident pages. With MASSIF_SETUP_RESIDENT, RESIDENT records say how the target's resident set
 * changes: the figures of RssAnon, RssFile, RssShmem and VmSwap in /proc/PID/status, in pages.
 * change is what this cause did to them; rss is what they are with it, the sum of all that was told
 * since BASE. No record is written where nothing changed (but see GONE).
 *
 *	FAULT	the thread touched the page at addr, in user mode or in a system call. With huge
 *		pages, or pages of a file that the kernel maps around it, more than one came.
 *	POPULATE the thread asked for [addr, addr + len) to be there: MAP_POPULATE, mlock, ...
 *	GONE	something was taken from [addr, addr + len): unmapped, given back with madvise,
 *		truncated, swapped out, reclaimed, ... It precedes the UNMAP of the same call if that
 *		has MASSIF_RF_GONE, and no more is to come; or else follows it. change is 0 if another
 *		thread, which did something at the same moment, was charged with all of it.
 *	OTHER	the kernel did it for the thread, or (MASSIF_RF_EXTERNAL) for another; where is
 *		not known: len is 0.
 *	DRIFT	nobody was seen doing it. Only said when nothing is under way in the target.
 *	BASE	rss is what is resident, whatever was told before; change is 0. It follows each
 *		complete resync, and it is the last before EXIT.
 *
 * While other threads are in faults, rss lacks what these have done so far. MOVE says that mremap
 * moves what is resident in [from, from + len) to addr; it follows the MAP of the destination. A call
 * that moves several mappings says it of each.
 *
 * Who may. The device's mode decides who may open it. What ptrace would refuse to who opened it is
 * refused: all user and group ids of the process (real, effective, saved) must be the opener's real ones, it
 * must have no capability that the opener lacks, be of the opener's user namespace, and dumpable; or the
 * opener must have CAP_SYS_PTRACE over the user namespaces of the process and of its program (EPERM). A
 * descriptor can be passed on: for ATTACH the same is asked of who calls. A process is in at most one
 * session (EBUSY); but ATTACH takes it out of one whose opener has not CAP_SYS_PTRACE over the initial user
 * namespace, if the own opener has: END of reason TAKEN tells the other. It ends such a one's test of the hooks, too.
 *
 * It is asked again when the process executes a program, when a record of what a thread does is due and
 * the thread has other credentials, or is not dumpable, and by MASSIF_IOC_RESYNC. From then on nothing of it is told any more, not
 * even if it changes back, but END of reason HIDDEN and an EXIT, as soon as the consumer polls; the process
 * has left the session.
 *
 * The number that ATTACH takes is one of the opener's pid namespace, and of a process, not a thread. ESRCH:
 * there is none or it is ending; EPERM, if who asks has not CAP_SYS_PTRACE, so that nobody finds out more
 * than ptrace tells.
 * EOPNOTSUPP: it is a thread of the kernel. EAGAIN: it is executing another program right now; try
 * again. ENOSPC: there is no room in the ring. To be sure that the number was not given to another
 * process meanwhile, open a pidfd before the call and see after it that its process still runs.
 * There is no detaching but by closing the descriptor.
 */

#include <linux/ioctl.h>
#include <linux/types.h>

#define MASSIF_DEVICE		"/dev/massif"
#define MASSIF_ABI		2

#define MASSIF_RING_MIN		(64U << 10)	/* bytes; and at least 4 * max_stack_bytes */
#define MASSIF_RING_MAX		(64U << 20)
#define MASSIF_STACK_MAX	(64U << 10)
#define MASSIF_HOOK_NAME	48
#define MASSIF_COMM		16

/* Offsets to mmap at, in pages; the three parts are mapped one by one. */
#define MASSIF_MMAP_CONTROL	0
#define MASSIF_MMAP_CONSUMER	1
#define MASSIF_MMAP_DATA	2

/* What the module can do: massif_query.features. */
#define MASSIF_FEATURE_PAGES	(1ULL << 0)	/* exact accounting of mappings */
#define MASSIF_FEATURE_STACKS	(1ULL << 1)	/* STACK records on this architecture */
#define MASSIF_FEATURE_RESIDENT	(1ULL << 2)	/* RESIDENT and MOVE records */
#define MASSIF_FEATURE_KNOWN	(1ULL << 3)	/* MASSIF_IOC_KNOWN */
#define MASSIF_FEATURE_ATTACH	(1ULL << 4)	/* MASSIF_IOC_ATTACH; the path in EXEC, and ARGS */

struct massif_query {
	__u32 size;
	__u32 flags;		/* 0 */
	/* out: */
	__u32 abi;
	__u32 __pad;		/* 0 */
	__u64 features;
	char release[32];	/* of the module, NUL-terminated */
};

/*
 * Ring and known stacks count as memory that the opener's user has locked: EDQUOT if that is more than the
 * caller's RLIMIT_MEMLOCK allows, unless opener and caller have CAP_IPC_LOCK. close gives all of it back.
 */
struct massif_setup {
	__u32 size;
	__u32 abi;		/* the one the consumer speaks: MASSIF_ABI */
	__u64 flags;		/* MASSIF_SETUP_* */
	__u64 ring_bytes;	/* power of two, MASSIF_RING_MIN to MASSIF_RING_MAX */
	__u32 max_stack_bytes;	/* 0 (no stacks) or 256 to MASSIF_STACK_MAX, multiple of 8 */
	__u32 known_bytes;	/* of kernel memory for known stacks; 0 (none) to MASSIF_KNOWN_MAX */
	/* out, on ENODEV: the hook that cannot be armed. */
	char dead_hook[MASSIF_HOOK_NAME];
};

/* massif_setup.flags */
#define MASSIF_SETUP_RESIDENT	(1ULL << 0)	/* also tell what is resident */
#define MASSIF_SETUP_VERIFY	(1ULL << 1)	/* capture known stacks as well, to be compared */

struct massif_enrol {
	__u32 size;
	__u32 flags;		/* 0 */
	/* out: */
	__u32 target;
	__u32 __pad;		/* 0 */
};

struct massif_resync {
	__u32 size;
	__u32 flags;		/* MASSIF_RESYNC_ALL: also the targets that are in sync */
	__u32 target;		/* 0: every one */
	/* out: how many targets are still out of sync (make room in the ring and call again) */
	__u32 remaining;
};

#define MASSIF_RESYNC_ALL	(1U << 0)

#define MASSIF_KNOWN_MAX	(64U << 20)	/* bytes of all */
#define MASSIF_KNOWN_BATCH	(64U << 10)	/* bytes told in one call */
#define MASSIF_KNOWN_WORDS	1024		/* of one stack, registers included */

/* A register (place: its number) or a word of the stack (place: bytes above sp). */
struct massif_stack_cache_word {
	__u64 value;
	__u32 place;
	__u32 __pad;		/* 0 */
};

struct massif_stack_cache_stack {
	__u32 size;		/* of this one, with its words */
	__u32 target;
	__u32 number;		/* not 0; the consumer's: told again, it replaces what was told */
	__u32 code_gen;		/* of the STACK that was walked */
	__u64 pc;
	__u64 sp;
	__u32 nr_regs;		/* pc and sp need not be among them */
	__u32 nr_slots;
	struct massif_stack_cache_word words[];	/* nr_regs registers, then nr_slots of the stack */
};

struct massif_stack_cache {
	__u32 size;
	__u32 flags;		/* 0 */
	__u64 stacks;		/* address of massif_stack_cache_stacks, one after another */
	__u32 bytes;		/* of them: at most MASSIF_KNOWN_BATCH */
	/* out: how many of them were taken; with an error, nobody can tell */
	__u32 taken;
};

struct massif_status {
	__u32 size;
	__u32 flags;		/* 0 */
	/* out: */
	__u64 records;		/* written to the ring */
	__u64 lost;		/* not written for want of room */
	__u64 missed;		/* hook entries that the kernel could not deliver */
	__u64 unseen;		/* times that total_vm had changed without a record */
	__u64 captures;		/* STACK records asked for */
	__u64 captures_failed;	/* ... for which there was no memory */
	__u64 captures_limited;	/* ... without bytes: their part of the ring was full */
	__u64 captures_truncated;	/* ... cut at max_stack_bytes */
	__u64 known_used;	/* records, and STACK records, with a known stack */
	__u64 known_forgotten;	/* known stacks dropped for want of room */
	__u32 known_stacks;	/* now */
	__u32 known_bytes;	/* of kernel memory that they take */
	__u32 processes;	/* in the session now */
	__u32 targets;		/* alive now */
	__u32 out_of_sync;	/* of them */
	__u32 pending;		/* captures and resyncs queued to threads, not done yet */
};

/* massif_hook_info.kind: by what means a function or event of the kernel is hooked */
#define MASSIF_HOOK_DETOUR	1
#define MASSIF_HOOK_KRETPROBE	2
#define MASSIF_HOOK_TRACEPOINT	3

/* massif_hook_info.state */
#define MASSIF_HOOK_FIRED	(1U << 0)	/* it was tried since it was armed, and fired */
#define MASSIF_HOOK_COMPARED	(1U << 1)	/* its arguments are as expected, by the kernel's BTF */

/* ENOENT: there is no hook of that number, nor a higher one. After SETUP all of them are armed. */
struct massif_hook_info {
	__u32 size;
	__u32 flags;		/* 0 */
	__u32 index;		/* from 0 */
	/* out: */
	__u32 kind;
	__u32 state;
	__u32 __pad;		/* 0 */
	char name[MASSIF_HOOK_NAME];
};

struct massif_attach {
	__u32 size;
	__u32 flags;		/* 0 */
	__s32 pid;
	/* out: */
	__u32 target;
};

/*
 * Does each hook fire? A child of the consumer says JOIN, does something of each kind (mmap into nothing and
 * in place of another mapping, munmap, a stack that grows, brk, mremap in place, mremap to elsewhere; with
 * MASSIF_SETUP_RESIDENT a page touched by it and one by a system call), and exits: nothing of it is
 * recorded. Then the consumer asks without JOIN. ENODEV: the hook named has not fired since the
 * hooks were armed; the consumer should do without the session. EBUSY: the process is followed, or
 * another test is on.
 */
struct massif_test {
	__u32 size;
	__u32 flags;		/* MASSIF_TEST_* */
	char dead_hook[MASSIF_HOOK_NAME];	/* out, on ENODEV */
};

#define MASSIF_TEST_JOIN	(1U << 0)
#define MASSIF_TEST_SPECIAL	(1U << 1)	/* a vdso was mapped, too (arch_prctl) */
#define MASSIF_TEST_STACK	(1U << 2)	/* a stack has grown, too: its limit did not forbid it */

#define MASSIF_IOC_QUERY	_IOWR('m', 0xa0, struct massif_query)
#define MASSIF_IOC_SETUP	_IOWR('m', 0xa1, struct massif_setup)
#define MASSIF_IOC_ENROL	_IOWR('m', 0xa2, struct massif_enrol)
#define MASSIF_IOC_RESYNC	_IOWR('m', 0xa3, struct massif_resync)
#define MASSIF_IOC_STATUS	_IOWR('m', 0xa4, struct massif_status)
#define MASSIF_IOC_KNOWN	_IOWR('m', 0xa5, struct massif_stack_cache)
#define MASSIF_IOC_ATTACH	_IOWR('m', 0xa6, struct massif_attach)
#define MASSIF_IOC_TEST		_IOWR('m', 0xa7, struct massif_test)
#define MASSIF_IOC_HOOK		_IOWR('m', 0xa8, struct massif_hook_info)

/* Control page: written by the module only. */
struct massif_control {
	__u32 abi;
	__u32 page_bytes;
	__u64 data_bytes;
	__u64 __reserved[6];
	__u64 head;		/* position after the last whole record */
	__u64 records;
	__u64 lost;
	__u64 __reserved2[5];
};

/* Consumer page: the module reads, never trusts, it. */
struct massif_consumer {
	__u64 tail;		/* position up to which records have been read */
	__u64 watermark;	/* unread bytes that are worth a wake-up */
};

enum massif_record_type {
	MASSIF_REC_PAD		= 1,
	MASSIF_REC_LOST		= 2,
	MASSIF_REC_ENROL	= 3,
	MASSIF_REC_FORK		= 4,
	MASSIF_REC_EXEC		= 5,
	MASSIF_REC_EXIT		= 6,
	MASSIF_REC_END		= 7,
	MASSIF_REC_RESYNC_BEGIN	= 8,
	MASSIF_REC_VMA		= 9,
	MASSIF_REC_RESYNC_END	= 10,
	MASSIF_REC_MAP		= 11,
	MASSIF_REC_UNMAP	= 12,
	MASSIF_REC_NAME		= 13,
	MASSIF_REC_STACK	= 14,
	MASSIF_REC_RESIDENT	= 15,
	MASSIF_REC_MOVE		= 16,
	MASSIF_REC_ATTACH	= 17,
	MASSIF_REC_ARGS		= 18,
};

/* massif_record.flags */
#define MASSIF_RF_EXTERNAL	(1U << 0)	/* the thread's address space is not the target */
#define MASSIF_RF_IN_EXEC	(1U << 1)	/* during exec: the registers are the old image's */
#define MASSIF_RF_NO_CAPTURE	(1U << 2)	/* there should be a stack; no room for it */
#define MASSIF_RF_NO_TOTAL	(1U << 3)	/* total_vm is not that of what was told: do not compare */
#define MASSIF_RF_KNOWN		(1U << 4)	/* capture is the number of a known stack */
#define MASSIF_RF_GONE		(1U << 5)	/* UNMAP: what was resident there was told to go before */

struct massif_record {
	__u32 type;		/* MASSIF_REC_* */
	__u32 size;		/* of the whole record, bytes, multiple of 8 */
	__u64 seq;
	__u64 time_ns;
	__u64 total_vm;		/* pages; 0 where the type has none */
	__u32 target;
	__u32 tid;
	__u32 capture;		/* 0: no stack */
	__u32 flags;		/* MASSIF_RF_* */
};

/* massif_rec_lost.reason */
#define MASSIF_LOST_ROOM	1	/* the ring was full */
#define MASSIF_LOST_MISSED	2	/* the kernel could not run a hook (kretprobe nmissed) */
#define MASSIF_LOST_UNSEEN	3	/* total_vm changed and no hook had said so */
#define MASSIF_LOST_MEMORY	4	/* out of memory: a child is not followed */

struct massif_rec_lost {
	struct massif_record h;
	__u64 count;
	__u32 reason;
	__u32 __pad;
};

/* ENROL and ATTACH. */
struct massif_rec_enrol {
	struct massif_record h;
	__u32 tgid;
	__u32 __pad;
	char comm[MASSIF_COMM];
};

struct massif_rec_fork {
	struct massif_record h;	/* h.target: the parent's */
	__u32 child;		/* target */
	__u32 parent_tgid;
	__u32 child_tgid;
	__u32 __pad;
};

struct massif_rec_exec {
	struct massif_record h;	/* h.target: the new one */
	__u32 old_target;	/* 0: not known */
	__u32 tgid;
	char comm[MASSIF_COMM];	/* the new one */
	char path[];		/* as it was given to execve; NUL-terminated; may be empty */
};

#define MASSIF_ARGS_MAX		4096

/* What a new program was given as its arguments; cut where that is longer. */
struct massif_rec_args {
	struct massif_record h;
	__u32 tgid;
	__u32 bytes;		/* of args */
	char args[];		/* each with its NUL, but for the last if it was cut */
};

struct massif_rec_exit {
	struct massif_record h;
	__u32 tgid;		/* the process that the target was made for */
	__u32 __pad;
};

/* massif_rec_end.reason */
#define MASSIF_END_EXIT		1	/* the process ended */
#define MASSIF_END_SECURE	2	/* it executed a set-id or file-capability program */
#define MASSIF_END_UNREADABLE	3	/* it executed a program that its user may not read */
#define MASSIF_END_MEMORY	4	/* no memory to follow its new program */
#define MASSIF_END_HIDDEN	5	/* it may not be looked at any more: see "Who may" */
#define MASSIF_END_TAKEN	6	/* a session of CAP_SYS_PTRACE's has attached to it */

struct massif_rec_end {
	struct massif_record h;	/* h.target: the last one, which may have said EXIT; h.tid: who */
	__u32 tgid;
	__u32 reason;
};

/* massif_rec_resync.reason */
#define MASSIF_RESYNC_ENROL	1
#define MASSIF_RESYNC_FORK	2
#define MASSIF_RESYNC_EXEC	3
#define MASSIF_RESYNC_LOST	4	/* records were lost or changes missed before */
#define MASSIF_RESYNC_ASKED	5	/* MASSIF_IOC_RESYNC */
#define MASSIF_RESYNC_ATTACH	6	/* MASSIF_IOC_ATTACH: all of it was mapped before */

/* massif_rec_resync.part */
#define MASSIF_RESYNC_FIRST	(1U << 0)
#define MASSIF_RESYNC_LAST	(1U << 1)

/* RESYNC_BEGIN and RESYNC_END, with the same contents. */
struct massif_rec_resync {
	struct massif_record h;
	__u64 start;		/* 0 in the first part */
	__u64 end;		/* ~0 in the last part */
	__u32 reason;
	__u32 part;
	__u32 count;		/* of VMA records between the two */
	__u32 __pad;
};

/* prot of MAP, VMA and NAME */
#define MASSIF_PROT_READ	(1U << 0)
#define MASSIF_PROT_WRITE	(1U << 1)
#define MASSIF_PROT_EXEC	(1U << 2)
#define MASSIF_PROT_SHARED	(1U << 3)
#define MASSIF_PROT_FILE	(1U << 4)	/* file, shmem or device; not anonymous */
#define MASSIF_PROT_GROWSDOWN	(1U << 5)

/* massif_rec_map.kind */
#define MASSIF_MAP_MMAP		1	/* mmap, shmat, io_setup, ... */
#define MASSIF_MAP_BRK		2
#define MASSIF_MAP_STACK	3	/* automatic growth downwards */
#define MASSIF_MAP_MREMAP_GROW	4	/* growth in place: addr and len are the new part's */
#define MASSIF_MAP_MREMAP_COPY	5	/* destination; an UNMAP of the source may follow */
#define MASSIF_MAP_SPECIAL	6	/* vdso, uprobes */

/* MAP; UNMAP has 0 in kind and prot. */
struct massif_rec_map {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* bytes */
	__u32 kind;
	__u32 prot;
};

/* VMA and NAME. */
struct massif_rec_vma {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* bytes */
	__u64 pgoff;		/* file offset in pages; 0 for anonymous memory */
	__u64 ino;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 prot;
	__u32 name_len;		/* without the NUL */
	char name[];		/* path, or [heap] [stack] [vdso] ..., or empty; NUL-terminated */
};

/* massif_rec_resident.cause */
#define MASSIF_RESIDENT_FAULT	 1
#define MASSIF_RESIDENT_POPULATE 2
#define MASSIF_RESIDENT_GONE	 3
#define MASSIF_RESIDENT_OTHER	 4
#define MASSIF_RESIDENT_DRIFT	 5
#define MASSIF_RESIDENT_BASE	 6

/* indexes of massif_rec_resident.change and .rss */
#define MASSIF_RSS_ANON		0
#define MASSIF_RSS_FILE		1
#define MASSIF_RSS_SHMEM	2
#define MASSIF_RSS_SWAP		3	/* not resident */
#define MASSIF_RSS_COUNT	4

struct massif_rec_resident {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* bytes; 0: not known where */
	__u64 rss[MASSIF_RSS_COUNT];	/* pages */
	__s32 change[MASSIF_RSS_COUNT];	/* pages */
	__u32 cause;		/* MASSIF_RESIDENT_* */
	__u32 __pad;
};

struct massif_rec_move {
	struct massif_record h;
	__u64 addr;		/* where to */
	__u64 len;		/* bytes */
	__u64 from;
};

#define MASSIF_ARCH_X86_64	62	/* the number ELF gives it */

/* regs of MASSIF_ARCH_X86_64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
#define MASSIF_X86_64_REGS	17

/* massif_rec_stack.stack_flags */
#define MASSIF_STACK_TRUNCATED	(1U << 0)	/* cut at max_stack_bytes */
#define MASSIF_STACK_FAULTED	(1U << 1)	/* cut where memory could not be read */
#define MASSIF_STACK_GONE	(1U << 2)	/* thread or image ended first: nothing in it */
#define MASSIF_STACK_NO_MEMORY	(1U << 4)	/* none for the copy: registers only */
#define MASSIF_STACK_COMPAT	(1U << 5)	/* a 32-bit thread: registers only */
#define MASSIF_STACK_LIMITED	(1U << 6)	/* no room in the stacks' part of the ring: registers only */

/* h.capture is the capture it explains. */
struct massif_rec_stack {
	struct massif_record h;
	__u32 arch;		/* MASSIF_ARCH_* */
	__u32 nr_regs;
	__u32 stack_flags;
	__u32 data_off;		/* from the start of the record to the bytes */
	__u64 sp;		/* address of the first byte */
	__u64 bytes;
	__u32 code_gen;		/* when the first record that it explains was written */
	__u32 known;		/* the number of a known stack that it equals; 0: none */
	__u64 regs[];		/* nr_regs, then the bytes */
};

#endif
