/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The protocol between massif.ko and its consumer in user space: ioctls, ring, records. */
#ifndef _UAPI_LINUX_MASSIF_H
#define _UAPI_LINUX_MASSIF_H

/*
 * Usage. Each open of /dev/massif is one session. The consumer is the program that opens the device and reads
 * the records.
 *
 *	fd = open("/dev/massif", O_RDWR | O_CLOEXEC);
 *	ioctl(fd, MASSIF_IOC_QUERY, &query);		version and features of the module
 *	ioctl(fd, MASSIF_IOC_SETUP, &setup);		once: creates the ring, arms the hooks
 *	ioctl(fd, MASSIF_IOC_TEST, &test);		checks that the hooks fire
 *	control  = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0 * page);
 *	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 * page);
 *	data     = mmap(NULL, setup.ring_bytes, PROT_READ, MAP_SHARED, fd, 2 * page);
 *	fork; in the child: ioctl(fd, MASSIF_IOC_ENROL, &enrol); exec (which closes the fd)
 *	in the parent: poll, read records, advance the tail; close ends the session
 *	for a process that is already running: ioctl(fd, MASSIF_IOC_ATTACH, &attach)
 *
 * Ioctls. Every argument starts with its own size. A size other than sizeof, an unknown flag, or a pad field that is
 * not zero gives EINVAL. A call that needs a ring gives ENXIO before SETUP. A second SETUP gives EBUSY. An ABI number
 * that the module does not support gives EPROTONOSUPPORT.
 *
 * Ring. The control page and the data area can be mapped only for reading; the consumer page is the only one that can
 * be mapped for writing. The data area is a circular buffer of control->data_bytes (a power of two). Positions count
 * bytes and never wrap: the byte at position p is data[p % data_bytes]. The module appends whole records at head. The
 * consumer reads while tail != head (load head with acquire), then stores the new tail (with release). A record is
 * never split: if it does not fit before the end of the buffer, a MASSIF_REC_PAD fills the remaining space, and the
 * record is written at the start of the buffer. A PAD has only the fields type and size; it can be as short as eight
 * bytes. The module keeps its own copy of head and checks the tail: an impossible tail counts as a full ring. The
 * profiled program never waits for the consumer.
 *
 * Waiting. poll() returns POLLIN if at least consumer->watermark bytes are unread (0 and 1 both mean any record), or if
 * an urgent record is unread (EXIT, END, or a LOST that reports changes that were not seen). It returns POLLHUP if the
 * session has had at least one process, and now has no process and no target: read the ring to its end once more and
 * stop. Wake-ups are asynchronous, so also use a timeout, and read the ring when it expires.
 *
 * Order. Records are in the order of the events, and seq counts them. A record about a mapping is written
 * while mmap_lock of the address space is held, so replaying a target's records in ring order gives its
 * mappings. seq has a gap wherever, and only where, records were lost. time_ns is CLOCK_MONOTONIC.
 *
 * Targets. A target is an address space, not a process: vfork and CLONE_VM share one, exec creates a new one.
 * Target numbers are not reused in a session; 0 means no target. When all numbers have been used (2^32 - 1), ENROL and
 * ATTACH fail with EOVERFLOW, a forked child is not followed (LOST, reason MEMORY), and a process that calls exec leaves
 * the session (END, reason MEMORY), as if the module had no memory. tid is the thread that caused the record.
 * Process and thread ids are in the opener's pid namespace.
 *
 *	ENROL	target of a process that has enrolled itself. A RESYNC follows.
 *	ATTACH	target of a running process that was attached. Records of its changes may precede the
 *		RESYNC of reason ATTACH and are valid.
 *	FORK	a member of the session has forked. child is a new target, and a RESYNC of it follows
 *		before the child runs; or it is the parent's target, if they share the address space.
 *	EXEC	the process has a new address space and target. A RESYNC follows before it runs. EXIT
 *		of the old target usually precedes EXEC; if another process shares the old address
 *		space (vfork), the old target continues.
 *	ARGS	the arguments of the program that EXEC has reported; written before the program runs,
 *		and omitted if they cannot be read.
 *	EXIT	the address space is about to be torn down: the last record of the target. total_vm is
 *		its value at that time (unknown with MASSIF_RF_NO_TOTAL). No STACK of the target follows.
 *		If the kernel could not run the hook on this, EXIT is written the next time the consumer
 *		polls, with MASSIF_RF_NO_TOTAL.
 *	END	the process has left the session; reason says why.
 *
 * Accounting. total_vm is in pages: the sum over the target's mappings, this record included. It is valid in
 * each MAP, UNMAP, last RESYNC_END and EXIT record while the target is in sync: from a RESYNC_END with
 * MASSIF_RESYNC_LAST up to a LOST. A RESYNC_END that is not the last of its series has MASSIF_RF_NO_TOTAL. An UNMAP
 * that removes more than 1,024 mappings can have it, too; a RESYNC follows, and until its end, totals are not checked.
 *
 *	MAP	[addr, addr + len) is now mapped. Nothing was mapped there before: if a mapping is
 *		replaced, an UNMAP precedes the MAP.
 *	UNMAP	nothing is mapped in [addr, addr + len) any more; parts of it may not have been mapped.
 *	NAME	the file of the preceding MAP at the same address, for file mappings
 *		(MASSIF_PROT_FILE); written before the thread returns to user mode. Layout of VMA.
 *	RESYNC_BEGIN, VMA..., RESYNC_END
 *		a complete list of the mappings in [start, end), cut at start and end. Written in one
 *		piece, with no other record in between. A large address space is listed in several parts,
 *		from low to high addresses; the last has MASSIF_RESYNC_LAST. Records of changes
 *		between the parts are valid. A target is in sync after a complete series, from FIRST to
 *		LAST.
 *	LOST	count records of the target were lost before its next record, for reason. With reason
 *		MISSED or UNSEEN, changes were not seen, and count is a lower bound. A LOST with target 0
 *		is about all targets if reason is MISSED, and about targets that have ended, or no target
 *		at all, if reason is ROOM. The targets concerned are resynced when they run again and
 *		there is room, or by MASSIF_IOC_RESYNC.
 *
 * prot in MAP, VMA and NAME is the protection at the time of the record; mprotect is not reported.
 *
 * Stacks. If a record has capture != 0 and not MASSIF_RF_KNOWN, its stack is in the STACK record with the same capture
 * number, which follows before the thread returns to user mode. Several records of one system call share one STACK. It
 * has the thread's user registers in DWARF order, and the bytes of the stack from the stack pointer up to the nearest
 * of these limits: the end of the mapping, max_stack_bytes of the session, a byte that cannot be read, and argc on the
 * stack of the first thread. The flags of a STACK without bytes say why there are none. capture is 0 in an UNMAP or
 * GONE record, if no particular thread caused the record, or with one of these flags: MASSIF_RF_EXTERNAL (a thread of
 * another address space caused the record: ptrace, a kernel worker), MASSIF_RF_IN_EXEC, or MASSIF_RF_NO_CAPTURE (there
 * was no memory, or the ring was full; the module counts these). Stack bytes may use at most three quarters of the
 * ring, so that they do not displace the records that accounting needs. Beyond that, a STACK has registers but no
 * bytes, and the flag MASSIF_STACK_LIMITED; the module counts these, too.
 *
 * Stack cache. A stack that was unwound before need not be copied again. With MASSIF_IOC_KNOWN, the consumer adds a
 * stack that it has unwound to the stack cache of the session: everything that the unwinding has read (program counter,
 * stack pointer, other registers, words of the stack), and a number that the consumer chooses. If the thread's
 * registers and memory match all of these when a record is written, unwinding would give the same result. The record
 * then has that number in capture, and the flag MASSIF_RF_KNOWN, and no STACK follows. This is exact as long as the
 * code of all frames of the stack is unchanged. So when executable code of a target is mapped or unmapped, or a change of
 * the target was not seen, the module drops the cached stacks of the target. code_gen in a STACK counts these events; the
 * consumer passes it back with the stack, so that a stack that arrives too late is never used. Wrong data from the
 * consumer can only make its own records wrong. The module may drop a cached stack at any time; the consumer then gets
 * a STACK again. A STACK can also be short: if its known field is not 0, the stack equals the cached stack of that
 * number, and the STACK has no registers or bytes. With MASSIF_SETUP_VERIFY, STACK records are always complete, and no
 * record has MASSIF_RF_KNOWN.
 *
 * Resident pages. With MASSIF_SETUP_RESIDENT, RESIDENT records report changes of the target's resident set:
 * RssAnon, RssFile, RssShmem and VmSwap of /proc/PID/status, in pages. change is the difference made by this
 * cause; rss is the result, the sum of all changes since BASE. A record without a change is not written (except
 * GONE, see below).
 *
 *	FAULT	the thread has touched the page at addr, in user mode or in a system call. With huge
 *		pages, or with file pages that the kernel maps around it, several pages become resident.
 *	POPULATE the thread has asked for [addr, addr + len) to be resident: MAP_POPULATE, mlock, ...
 *	GONE	pages were removed from [addr, addr + len): unmapped, released by madvise, truncated,
 *		swapped out, reclaimed, ... If the UNMAP of the same call has MASSIF_RF_GONE, all GONE
 *		records of the call precede it; otherwise they follow. change is 0 if another thread
 *		changed the counters at the same time and was charged with all of it.
 *	OTHER	the kernel has changed the counters for the thread, or for another thread
 *		(MASSIF_RF_EXTERNAL). The range is not known: len is 0.
 *	DRIFT	a change whose cause was not seen. Written only while no other change is in progress.
 *	BASE	rss is the current resident set, and replaces all earlier sums; change is 0. Written after each
 *		complete resync, and before EXIT.
 *
 * rss does not yet include the changes of other threads that are handling a page fault. MOVE reports that mremap moves
 * the resident pages of [from, from + len) to addr; it follows the MAP of the destination. If a call moves several
 * mappings, each has a MOVE.
 *
 * Access. The file mode of the device decides who may open it. The opener may observe only processes that it could
 * ptrace. There are two cases in which it could; otherwise the error is EPERM. Either all user and group ids of the
 * process (real, effective, saved) equal the opener's real ids, and the process has no capability that the opener
 * lacks, is in the opener's user namespace, and is dumpable; or the opener has CAP_SYS_PTRACE over the user namespaces
 * of the process and of its program. The file descriptor can be passed to another process, so ATTACH checks the caller,
 * too. A process is in at most one session (EBUSY). But if the opener has CAP_SYS_PTRACE over the initial user
 * namespace, ATTACH takes a process over from a session whose opener lacks this capability. The other session gets an
 * END with reason TAKEN. If the process is in a hook test of such a session, ATTACH ends the test and takes the process
 * over, too.
 *
 * The check is repeated when the process executes a program, before a record about a thread whose credentials have
 * changed or that is not dumpable, and by MASSIF_IOC_RESYNC. If the check fails, nothing more is reported about the
 * process, even if the check would succeed again later. The next time the consumer polls, the process leaves the
 * session. Its last records are an END with reason HIDDEN, and EXIT.
 *
 * ATTACH takes the id of a process, not a thread, in the opener's pid namespace. Its errors are:
 *
 *	ESRCH		no such process, or it is ending. A caller without CAP_SYS_PTRACE gets EPERM
 *			instead, so that it learns no more than from ptrace.
 *	EPERM		it may not be observed
 *	EOPNOTSUPP	it is a kernel thread
 *	EAGAIN		it is executing another program; try again
 *	ENOSPC		there is no room in the ring
 *	EOVERFLOW	the session has no target number left
 *
 * To be sure that the id was not reused for another process, open a pidfd before the call, and check after it
 * that the pidfd's process still runs. A process can be detached only by closing the descriptor.
 */

#include <linux/ioctl.h>
#include <linux/types.h>

#define MASSIF_DEVICE		"/dev/massif"
#define MASSIF_ABI		2

/* Minimum size of the ring in bytes. The ring must also be at least 4 * max_stack_bytes bytes long. */
#define MASSIF_RING_MIN		(64U << 10)
#define MASSIF_RING_MAX		(64U << 20)
#define MASSIF_STACK_MAX	(64U << 10)
#define MASSIF_HOOK_NAME	48
#define MASSIF_COMM		16

/* Offsets of the ring's three parts for mmap, in pages; they are mapped separately. */
#define MASSIF_MMAP_CONTROL	0
#define MASSIF_MMAP_CONSUMER	1
#define MASSIF_MMAP_DATA	2

/* Bits of massif_query.features. */
/* The module reports every change of a target's mappings, so that the mapped pages can be counted exactly. */
#define MASSIF_FEATURE_PAGES	(1ULL << 0)
#define MASSIF_FEATURE_STACKS	(1ULL << 1)	/* the module writes STACK records on this architecture */
#define MASSIF_FEATURE_RESIDENT	(1ULL << 2)	/* the module can write RESIDENT and MOVE records */
#define MASSIF_FEATURE_KNOWN	(1ULL << 3)	/* the module has a stack cache (MASSIF_IOC_KNOWN) */
/* The module has the ioctl MASSIF_IOC_ATTACH. It writes ARGS records, and a path in EXEC records. */
#define MASSIF_FEATURE_ATTACH	(1ULL << 4)

struct massif_query {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	/* The module fills in the fields below. */
	__u32 abi;
	__u32 __pad;		/* padding: must be 0 */
	__u64 features;
	char release[32];	/* version of the module, NUL-terminated */
};

/*
 * The ring and the stack cache are charged as locked memory to the user who opened the device. SETUP fails with EDQUOT
 * if this would exceed the caller's RLIMIT_MEMLOCK, unless both opener and caller have CAP_IPC_LOCK. Closing the device
 * undoes the charge.
 */
struct massif_setup {
	__u32 size;
	__u32 abi;		/* MASSIF_ABI for which the consumer was compiled */
	__u64 flags;		/* flags of the session: bits MASSIF_SETUP_* */
	__u64 ring_bytes;	/* size of the ring in bytes: a power of two, MASSIF_RING_MIN to MASSIF_RING_MAX */
	/*
	 * Maximum number of stack bytes in a STACK record: 0 (no stacks), or a multiple of 8 from 256 to
	 * MASSIF_STACK_MAX.
	 */
	__u32 max_stack_bytes;
	__u32 known_bytes;	/* bytes of kernel memory for the stack cache: 0 (no cache) to MASSIF_KNOWN_MAX */
	/* If SETUP returns ENODEV, the module stores the name of the hook that cannot be armed. */
	char dead_hook[MASSIF_HOOK_NAME];
};

/* Bits of massif_setup.flags. */
#define MASSIF_SETUP_RESIDENT	(1ULL << 0)	/* the module writes RESIDENT and MOVE records */
#define MASSIF_SETUP_VERIFY	(1ULL << 1)	/* the module copies cached stacks as well, for comparison */

struct massif_enrol {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	/* The module fills in the fields below. */
	__u32 target;
	__u32 __pad;		/* padding: must be 0 */
};

struct massif_resync {
	__u32 size;
	__u32 flags;		/* MASSIF_RESYNC_ALL: include targets that are in sync */
	__u32 target;		/* target to resync; 0: all targets */
	/*
	 * Set by the module to the number of targets that are still out of sync, or with MASSIF_RESYNC_ALL, of those whose
	 * mappings were not listed completely. If it is not 0, make room in the ring and call again.
	 */
	__u32 remaining;
};

#define MASSIF_RESYNC_ALL	(1U << 0)

#define MASSIF_KNOWN_MAX	(64U << 20)	/* maximum size of a session's stack cache, in bytes */
#define MASSIF_KNOWN_BATCH	(64U << 10)	/* maximum size of all stacks passed in one call, in bytes */
#define MASSIF_KNOWN_WORDS	1024		/* maximum number of words of one stack, including registers */

/*
 * The value of a register or of a word of the stack. place is the register's DWARF number, or the offset from sp in
 * bytes.
 */
struct massif_stack_cache_word {
	__u64 value;
	__u32 place;
	__u32 __pad;		/* padding: must be 0 */
};

struct massif_stack_cache_stack {
	__u32 size;		/* size of this struct in bytes, including the array words */
	__u32 target;
	/* Chosen by the consumer; not 0. The stack replaces any cached stack with the same target, pc, sp and number. */
	__u32 number;
	__u32 code_gen;		/* code_gen of the STACK record whose stack was unwound */
	__u64 pc;
	__u64 sp;
	__u32 nr_regs;		/* number of registers in words[], which need not contain pc and sp */
	__u32 nr_slots;
	struct massif_stack_cache_word words[];	/* nr_regs registers, then nr_slots stack words */
};

struct massif_stack_cache {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	__u64 stacks;		/* address of an array of massif_stack_cache_stack; entries differ in size */
	__u32 bytes;		/* size of the array in bytes: at most MASSIF_KNOWN_BATCH */
	/* out: number of stacks added to the cache; undefined if the call fails */
	__u32 taken;
};

struct massif_status {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	/* The module fills in the fields below. */
	__u64 records;		/* records written to the ring */
	__u64 lost;		/* records not written because the ring was full */
	__u64 missed;		/* calls of hooked functions that the kernel could not deliver to the module */
	__u64 unseen;		/* number of times total_vm had changed although no record of the change was written */
	__u64 captures;		/* STACK records that hooks have requested */
	/* STACK records not written for lack of memory, or because a thread in a long system call has others to write */
	__u64 captures_failed;
	/* stacks not copied because the ring had no room: their STACK records have no bytes, or were not requested */
	__u64 captures_limited;
	__u64 captures_truncated;	/* STACK records cut at max_stack_bytes */
	__u64 known_used;	/* records, including STACK records, that refer to a cached stack */
	__u64 known_forgotten;	/* cached stacks dropped to make room for others */
	__u32 known_stacks;	/* number of stacks currently in the stack cache */
	__u32 known_bytes;	/* kernel memory used by the stack cache */
	__u32 processes;	/* processes in the session now */
	__u32 targets;		/* current number of targets in the session */
	__u32 out_of_sync;	/* number of the session's targets that are out of sync */
	__u32 pending;		/* stack copies and resyncs that threads have not carried out yet */
};

/* Values of massif_hook_info.kind: how a function or tracepoint is hooked. */
#define MASSIF_HOOK_DETOUR	1
#define MASSIF_HOOK_KRETPROBE	2
#define MASSIF_HOOK_TRACEPOINT	3

/* Bits of massif_hook_info.state. */
#define MASSIF_HOOK_FIRED	(1U << 0)	/* the hook has fired in a hook test since it was armed */
#define MASSIF_HOOK_COMPARED	(1U << 1)	/* BTF shows that the kernel's function has the expected prototype */

/*
 * Argument of MASSIF_IOC_HOOK, which describes one hook. Fails with ENOENT if no hook has a number greater than or
 * equal to index. After SETUP, all hooks are armed.
 */
struct massif_hook_info {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	/* in: index at which to start searching for a hook, initially 0; out: index of the hook found */
	__u32 index;
	/* The module fills in the fields below. */
	__u32 kind;
	__u32 state;
	__u32 __pad;		/* padding: must be 0 */
	char name[MASSIF_HOOK_NAME];
};

struct massif_attach {
	__u32 size;
	__u32 flags;		/* no flags are defined: must be 0 */
	__s32 pid;
	/* The module fills in the fields below. */
	__u32 target;
};

/*
 * Argument of MASSIF_IOC_TEST, which tests that each hook fires. A child of the consumer calls it with the flag JOIN.
 * The child then does each of the following once: mmap at free addresses, mmap over another mapping, munmap, stack
 * growth, brk, mremap in place, mremap to another address. With MASSIF_SETUP_RESIDENT, it also touches one page itself
 * and has a system call touch another. Then it exits. The module writes no records about the child. Finally the
 * consumer calls it without JOIN. ENODEV: the hook named in dead_hook has not fired since the hooks were armed, so the
 * session cannot be trusted. EBUSY: the process is already followed, or another test is running.
 */
struct massif_test {
	__u32 size;
	__u32 flags;		/* in: flags MASSIF_TEST_* */
	char dead_hook[MASSIF_HOOK_NAME];	/* on ENODEV: hook that did not fire */
};

#define MASSIF_TEST_JOIN	(1U << 0)
/*
 * MASSIF_IOC_TEST also fails with ENODEV if the hook on the mapping of a vdso has not fired. Without this flag, that
 * hook is not checked, because not every kernel lets the consumer's test child map a vdso (arch_prctl).
 */
#define MASSIF_TEST_SPECIAL	(1U << 1)
/*
 * MASSIF_IOC_TEST also fails with ENODEV if the hook on stack growth has not fired. Without this flag, that hook is not
 * checked, because the stack limit may be too low for any stack of the consumer's test child to grow.
 */
#define MASSIF_TEST_STACK	(1U << 2)

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
	__u64 head;		/* position in the ring after the last whole record */
	__u64 records;
	__u64 lost;
	__u64 __reserved2[5];
};

/* Consumer page: the module reads it and does not trust it. */
struct massif_consumer {
	__u64 tail;		/* position in the ring after the last record that was read */
	__u64 watermark;	/* number of unread bytes at which to wake up the consumer */
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

/* Bits of massif_record.flags. */
/* Caused by a thread of another address space, by a kernel worker or by an exiting thread. */
#define MASSIF_RF_EXTERNAL	(1U << 0)
#define MASSIF_RF_IN_EXEC	(1U << 1)	/* written during exec: the registers are the old program's */
#define MASSIF_RF_NO_CAPTURE	(1U << 2)	/* the stack could not be copied: no memory or no room */
/* total_vm is not the sum of the reported mappings: do not compare the two */
#define MASSIF_RF_NO_TOTAL	(1U << 3)
#define MASSIF_RF_KNOWN		(1U << 4)	/* the record's field capture is the number of a cached stack */
#define MASSIF_RF_GONE		(1U << 5)	/* in an UNMAP record: all GONE records of this unmapping precede it */

struct massif_record {
	__u32 type;		/* record type MASSIF_REC_* */
	__u32 size;		/* size of the whole record in bytes, a multiple of 8 */
	__u64 seq;
	__u64 time_ns;
	__u64 total_vm;		/* pages mapped by the target; 0 in records of some types */
	__u32 target;
	__u32 tid;
	__u32 capture;		/* number of the STACK record or of the cached stack; 0: no stack */
	__u32 flags;		/* bits MASSIF_RF_* */
};

/* Values of massif_rec_lost.reason: why records are missing. */
#define MASSIF_LOST_ROOM	1	/* records were lost because the ring was full */
#define MASSIF_LOST_MISSED	2	/* the kernel could not run a hook (kretprobe nmissed) */
#define MASSIF_LOST_UNSEEN	3	/* total_vm changed without any hook being called */
#define MASSIF_LOST_MEMORY	4	/* out of memory or target numbers: a forked child is not followed */

struct massif_rec_lost {
	struct massif_record h;
	__u64 count;
	__u32 reason;
	__u32 __pad;
};

/* Layout of ENROL and ATTACH records. */
struct massif_rec_enrol {
	struct massif_record h;
	__u32 tgid;
	__u32 __pad;
	char comm[MASSIF_COMM];
};

struct massif_rec_fork {
	struct massif_record h;	/* header of FORK; h.target is the parent's target */
	__u32 child;		/* number of the child's target */
	__u32 parent_tgid;
	__u32 child_tgid;
	__u32 __pad;
};

struct massif_rec_exec {
	struct massif_record h;	/* header of EXEC; h.target is the new target */
	__u32 old_target;	/* number of the process's target before the exec; 0: unknown */
	__u32 tgid;
	char comm[MASSIF_COMM];	/* name of the new program */
	char path[];		/* path as passed to execve; NUL-terminated; may be empty */
};

#define MASSIF_ARGS_MAX		4096

/* The arguments of a new program; cut at MASSIF_ARGS_MAX bytes. */
struct massif_rec_args {
	struct massif_record h;
	__u32 tgid;
	__u32 bytes;		/* size of all arguments in bytes */
	char args[];		/* the arguments; each ends with a NUL, except the last one if it was truncated */
};

struct massif_rec_exit {
	struct massif_record h;
	__u32 tgid;		/* id of the process that the target was created for */
	__u32 __pad;
};

/* Values of massif_rec_end.reason: why a process has left the session. */
#define MASSIF_END_EXIT		1	/* the process ended */
#define MASSIF_END_SECURE	2	/* the process executed a set-id or file-capability program */
#define MASSIF_END_UNREADABLE	3	/* the process executed a program that its user may not read */
/* The process executed a program, but there was not enough memory, or no target number, to follow it. */
#define MASSIF_END_MEMORY	4
#define MASSIF_END_HIDDEN	5	/* the process may no longer be observed: see "Access" */
#define MASSIF_END_TAKEN	6	/* a session with CAP_SYS_PTRACE has attached to the process */

struct massif_rec_end {
	/*
	 * h.target is the last target (address space) that the process used. The EXIT record of that target may come
	 * before this record. h.tid is the thread whose action removed the process from the session.
	 */
	struct massif_record h;
	__u32 tgid;
	__u32 reason;
};

/* Values of massif_rec_resync.reason: why the mappings are listed. */
#define MASSIF_RESYNC_ENROL	1
#define MASSIF_RESYNC_FORK	2
#define MASSIF_RESYNC_EXEC	3
#define MASSIF_RESYNC_LOST	4	/* records were lost or changes were missed */
#define MASSIF_RESYNC_ASKED	5	/* the consumer called MASSIF_IOC_RESYNC with MASSIF_RESYNC_ALL */
#define MASSIF_RESYNC_ATTACH	6	/* after MASSIF_IOC_ATTACH: the target's mappings predate the session */

/* Bits of massif_rec_resync.part: position in a series of partial lists. */
#define MASSIF_RESYNC_FIRST	(1U << 0)
#define MASSIF_RESYNC_LAST	(1U << 1)

/* Layout of RESYNC_BEGIN and RESYNC_END records, which have the same contents. */
struct massif_rec_resync {
	struct massif_record h;
	__u64 start;		/* this part of a resync lists mappings starting at this address; 0 in the first part */
	__u64 end;		/* this part of a resync lists the mappings up to this address; ~0 in the last part */
	__u32 reason;
	__u32 part;
	__u32 count;		/* number of VMA records between RESYNC_BEGIN and RESYNC_END */
	__u32 __pad;
};

/* Bits of prot in MAP, VMA and NAME records: protection and kind of a mapping. */
#define MASSIF_PROT_READ	(1U << 0)
#define MASSIF_PROT_WRITE	(1U << 1)
#define MASSIF_PROT_EXEC	(1U << 2)
#define MASSIF_PROT_SHARED	(1U << 3)
#define MASSIF_PROT_FILE	(1U << 4)	/* mapping of a file, shmem or a device; not anonymous */
#define MASSIF_PROT_GROWSDOWN	(1U << 5)

/* Values of massif_rec_map.kind: what created the mapping. */
#define MASSIF_MAP_MMAP		1	/* created by mmap, shmat, io_setup, ... */
#define MASSIF_MAP_BRK		2
#define MASSIF_MAP_STACK	3	/* automatic downward growth of a stack */
#define MASSIF_MAP_MREMAP_GROW	4	/* growth in place by mremap; addr and len describe the new part */
#define MASSIF_MAP_MREMAP_COPY	5	/* destination of an mremap move; an UNMAP of the source may follow */
#define MASSIF_MAP_SPECIAL	6	/* mapping that the kernel creates for a vdso or uprobes */

/* Layout of MAP and UNMAP records; an UNMAP has 0 in kind and prot. */
struct massif_rec_map {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* length of the mapping in bytes */
	__u32 kind;
	__u32 prot;
};

/* Layout of VMA and NAME records. */
struct massif_rec_vma {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* length of the mapping in bytes */
	__u64 pgoff;		/* file offset in pages; 0 for anonymous memory */
	__u64 ino;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 prot;
	__u32 name_len;		/* length of the name in bytes, without the NUL */
	char name[];		/* path, or [heap] [stack] [vdso] ..., or empty; NUL-terminated */
};

/* Values of massif_rec_resident.cause: why pages became resident or were removed. */
#define MASSIF_RESIDENT_FAULT	 1
#define MASSIF_RESIDENT_POPULATE 2
#define MASSIF_RESIDENT_GONE	 3
#define MASSIF_RESIDENT_OTHER	 4
#define MASSIF_RESIDENT_DRIFT	 5
#define MASSIF_RESIDENT_BASE	 6

/* Indexes into massif_rec_resident.change and .rss: kinds of pages. */
#define MASSIF_RSS_ANON		0
#define MASSIF_RSS_FILE		1
#define MASSIF_RSS_SHMEM	2
#define MASSIF_RSS_SWAP		3	/* pages that are swapped out, so not resident */
#define MASSIF_RSS_COUNT	4

struct massif_rec_resident {
	struct massif_record h;
	__u64 addr;
	__u64 len;		/* length in bytes of the range that contains the pages; 0: unknown range */
	__u64 rss[MASSIF_RSS_COUNT];	/* the resulting resident set, in pages */
	__s32 change[MASSIF_RSS_COUNT];	/* change of each value in rss, in pages, for the reason in cause */
	__u32 cause;		/* why the pages changed: MASSIF_RESIDENT_* */
	__u32 __pad;
};

struct massif_rec_move {
	struct massif_record h;
	__u64 addr;		/* address to which mremap moves the pages */
	__u64 len;		/* length of the moved range in bytes */
	__u64 from;
};

#define MASSIF_ARCH_X86_64	62	/* value of EM_X86_64 in ELF */

/* Order of regs in a STACK record, if arch is MASSIF_ARCH_X86_64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
#define MASSIF_X86_64_REGS	17

/* Bits of massif_rec_stack.stack_flags: why stack bytes are missing. */
#define MASSIF_STACK_TRUNCATED	(1U << 0)	/* the stack bytes were truncated to max_stack_bytes */
#define MASSIF_STACK_FAULTED	(1U << 1)	/* the stack copy ends where memory could not be read */
#define MASSIF_STACK_GONE	(1U << 2)	/* no registers or bytes: the thread ended or called exec first */
#define MASSIF_STACK_NO_MEMORY	(1U << 4)	/* out of memory: no stack bytes and perhaps no registers were copied */
#define MASSIF_STACK_COMPAT	(1U << 5)	/* no stack bytes, only registers: the thread runs 32-bit code */
/* Only registers were copied, because the part of the ring that stacks may use is full. */
#define MASSIF_STACK_LIMITED	(1U << 6)

/* Layout of STACK records. Any other record whose capture field holds the same number has this stack. */
struct massif_rec_stack {
	struct massif_record h;
	__u32 arch;		/* architecture of the registers: MASSIF_ARCH_* */
	__u32 nr_regs;
	__u32 stack_flags;
	__u32 data_off;		/* offset of the stack bytes from the start of the record */
	__u64 sp;		/* stack pointer: address of the first stack byte */
	__u64 bytes;
	/*
	 * Number of times executable code of the target had been (or may have been) mapped or unmapped before the first
	 * record with this stack was written.
	 */
	__u32 code_gen;
	__u32 known;		/* number of the cached stack that matches the thread's stack, or 0 if there is none */
	__u64 regs[];		/* nr_regs registers, then the stack bytes */
};

#endif
