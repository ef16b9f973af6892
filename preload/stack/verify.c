// SPDX-License-Identifier: GPL-2.0
// Checks each stack with an independent walk by libunwind.
//
// libunwind is loaded with dlopen(), and only on request: if the shim were linked with it, its functions would replace
// libgcc's functions of the same names.
//
// libunwind needs more stack space than threads and coroutines may have, so each thread has a separate stack for these
// checks. libunwind also makes system calls that an allocator would not make, so once the program has restricted its
// system calls, stacks are no longer checked.
//
// To test whether an address is readable, libunwind writes a byte from that address into a pipe that it keeps open.
// The pipe would take up two of the program's descriptors; and if the program closed all descriptors and then opened
// files of its own, libunwind would read from these files and write to them. So libunwind's pipe is only simulated.

#include "verify.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "model/trie.h"
#include "cfi/callsite.h"
#include "cfi/frame.h"
#include "cfi.h"
#include "core/own_memory.h"
#include "core/readable.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/thread.h"

#ifdef __x86_64__

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/*
 * Converts @symbol to a string after expanding it: libunwind defines its functions' names as macros that add the
 * architecture to the name.
 */
#define NAME(symbol)	NAME_OF(symbol)
#define NAME_OF(symbol) #symbol

static struct {
	int (*get_context)(unw_context_t *context);
	int (*init_local)(unw_cursor_t *cursor, unw_context_t *context);
	int (*get_reg)(unw_cursor_t *cursor, int reg, unw_word_t *value);
	int (*get_save_loc)(unw_cursor_t *cursor, int reg, unw_save_loc_t *where);
	int (*step)(unw_cursor_t *cursor);
	int (*get_proc_info)(unw_cursor_t *cursor, unw_proc_info_t *info);
	int (*get_proc_info_by_ip)(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
				   void *data);
	unw_addr_space_t *space;
} libunwind;

/*
 * Number of threads inside libunwind, which has locks of its own. If a thread holds one of these locks when the process
 * forks, the lock is never released in the child.
 */
static uint32_t walking;
/* ID of the process whose threads @walking counts; a forked child starts its own count */
static int32_t walking_pid;

/*
 * State of the reference walk. libunwind takes the steps, except in code without unwind rules. libunwind's cursor
 * (@cursor) keeps pointers into @context, so this struct must not be moved during the walk.
 */
struct reference {
	unw_cursor_t cursor;
	unw_context_t context;
	/* number of frame-pointer links that the walk has followed but that belong to no frame; see mf_unwind() */
	uint32_t n_links;
	uint64_t pc;	   /* address reached by the reference walk; 0 if the walk has ended */
	uint64_t readable; /* an address in the last page that was found readable, or 0 */
};

/*
 * A thread's memory for comparing the stacks that the shim finds with those that libunwind finds. This struct is
 * followed by the stack on which the comparison runs.
 */
struct verification {
	struct reference reference;
	const struct mf_registers *caller;
	uint32_t context;
	struct mf_frame frames[MF_DEPTH_MAX]; /* frames of the context that the shim has found for the stack */
	uint64_t pcs[MF_DEPTH_MAX + 1];	      /* code addresses that the reference walk has found */
};

#define MEMORY_BYTES (512u << 10)
#define PAGE_BYTES   4096u /* smallest page size on this processor */

/*
 * Fake file descriptor for both ends of the simulated pipe, to which libunwind writes to test whether memory is
 * readable. It is never a valid descriptor.
 */
#define NO_PIPE (-2)

/*
 * Reads memory that may be unmapped; returns false if it is. process_vm_readv(2) is slow, but independent of the code
 * under test. If the kernel does not allow this call, falls back to mf_readable_word(), which the shim itself uses.
 */
static bool read_memory(uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };

	if (syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1ul, &remote, 1ul, 0ul) ==
	    (long)size)
		return true;
	if (errno != EPERM && errno != ENOSYS)
		return false;
	/* Aligned words do not cross a page boundary. */
	if (!mf_readable_word(address & ~7ull) || !mf_readable_word((address + size - 1) & ~7ull))
		return false;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return true;
}

static int make_no_pipe(int fds[2], int flags)
{
	fds[0] = NO_PIPE;
	fds[1] = NO_PIPE;
	return 0;
}

/* libunwind calls this to drain its pipe and to read /proc/self/maps. */
static ssize_t read_for_libunwind(int fd, void *to, size_t size)
{
	if (fd != NO_PIPE)
		return syscall(SYS_read, fd, to, size);
	errno = EAGAIN;
	return -1;
}

static ssize_t write_for_libunwind(int fd, const void *from, size_t size)
{
	char bytes[1];

	if (fd != NO_PIPE)
		return write(fd, from, size);
	if (!read_memory((uint64_t)(uintptr_t)from, bytes, sizeof(bytes))) {
		errno = EFAULT;
		return -1;
	}
	/* Set errno to 0, because libunwind tests errno even after success. */
	errno = 0;
	return 1;
}

/*
 * libunwind calls this instead of syscall(). Version 1.6 writes to its pipe with syscall(), so such writes must be
 * simulated here.
 */
static long syscall_for_libunwind(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_write && (int)a == NO_PIPE)
		return write_for_libunwind(NO_PIPE, (const void *)b, (size_t)c);
	return syscall(number, a, b, c, d, e, f);
}

const struct mf_verify_function mf_verify_functions[MF_VERIFY_FUNCTIONS] = {
	{ "pipe2", (const void *)make_no_pipe },
	{ "read", (const void *)read_for_libunwind },
	{ "write", (const void *)write_for_libunwind },
	{ "syscall", (const void *)syscall_for_libunwind },
};

bool mf_verify_start(void *handle)
{
	const struct {
		const char *name;
		void **function;
	} functions[] = {
		{ "_Ux86_64_getcontext", (void **)&libunwind.get_context },
		{ NAME(unw_init_local), (void **)&libunwind.init_local },
		{ NAME(unw_get_reg), (void **)&libunwind.get_reg },
		{ NAME(unw_get_save_loc), (void **)&libunwind.get_save_loc },
		{ NAME(unw_step), (void **)&libunwind.step },
		{ NAME(unw_get_proc_info), (void **)&libunwind.get_proc_info },
		{ NAME(unw_get_proc_info_by_ip), (void **)&libunwind.get_proc_info_by_ip },
		{ NAME(unw_local_addr_space), (void **)&libunwind.space },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		*functions[i].function = handle ? dlsym(handle, functions[i].name) : NULL;
		if (!*functions[i].function) {
			mf_session_store.header->verify = MF_VERIFY_IMPOSSIBLE;
			return false;
		}
	}
	walking_pid = mf_session_store.header->pid;
	return true;
}

static bool follows_call(uint64_t pc)
{
	uint8_t code[MF_CALLSITE_BYTES];
	size_t size = sizeof(code);
	int64_t distance;

	/* The code before @pc may begin in an unreadable page. Read as many of the bytes before @pc as possible. */
	while (size && !read_memory(pc - size, code + sizeof(code) - size, size))
		size--;
	return mf_callsite_ends(code + sizeof(code), size, &distance);
}

/*
 * Are there rules for the frame? Asks libunwind only if the shim finds none, because libunwind searches all objects for
 * them. For code without rules, libunwind reports a length of one byte.
 */
static bool has_rules(struct reference *reference)
{
	unw_proc_info_t info;
	struct mf_cfi_rule rule;

	mf_cfi_find(reference->pc - 1, &rule);
	if (rule.cfa != MF_CFA_NONE && rule.cfa != MF_CFA_BORDER)
		return true;
	return !libunwind.get_proc_info(&reference->cursor, &info) &&
	       info.end_ip - info.start_ip > 1;
}

/*
 * Does the shim find rules for the code at @pc in an object that libunwind does not know? libunwind knows the objects
 * that dl_iterate_phdr(3) reports, but not those loaded by dlmopen(3).
 */
static bool is_out_of_sight(uint64_t pc)
{
	struct mf_cfi_rule rule;
	/* @info is zeroed, because libunwind may read it before it has stored anything there; see is_start(). */
	unw_proc_info_t info = { 0 };

	mf_cfi_find(pc - 1, &rule);
	return rule.cfa != MF_CFA_NONE && rule.cfa != MF_CFA_BORDER &&
	       libunwind.get_proc_info_by_ip(*libunwind.space, pc - 1, &info, NULL) == -UNW_ENOINFO;
}

/*
 * Returns whether an unwind entry begins at @pc. If so, the instruction before @pc is not a call. @info is zeroed
 * because, for an object without .eh_frame_hdr, libunwind compares @pc with fields of @info before it has read the
 * first entry into them.
 */
static bool is_start(uint64_t pc)
{
	unw_proc_info_t info = { 0 };

	return !libunwind.get_proc_info_by_ip(*libunwind.space, pc, &info, NULL) &&
	       info.start_ip == pc;
}

static bool same_page(uint64_t a, uint64_t b)
{
	return a / PAGE_BYTES == b / PAGE_BYTES;
}

/*
 * Is the stack word at @address readable? One system call per page is enough, since the stack does not move during a
 * walk.
 */
static bool is_readable(struct reference *reference, uint64_t address)
{
	uint64_t word, end = address + sizeof(word) - 1;

	if (reference->readable && same_page(address, reference->readable) && same_page(end, reference->readable))
		return true;
	if (!read_memory(address, &word, sizeof(word)))
		return false;
	reference->readable = end;
	return true;
}

/* Reads a word for mf_frame_undo(). @data: a bool, set to true if the word is not readable. */
static bool read_word(uint64_t address, uint64_t *word, void *data)
{
	bool *missed = data;

	if (read_memory(address, word, sizeof(*word)))
		return true;
	*missed = true;
	return false;
}

/*
 * can_step() for rules that do not compute the CFA from the stack pointer or the frame pointer: takes the step with the
 * shim's own code, which tests all memory that it reads. Returns false if a word was not readable. Otherwise libunwind
 * may take the step, whatever the shim's code has found.
 */
static bool can_step_by_other_rules(struct reference *reference)
{
	struct mf_expression_registers registers = { .known = 1u << MF_DWARF_RA };
	struct mf_rows_object object = mf_cfi_object(reference->pc - 1);
	bool exact = false, missed = false;

	registers.value[MF_DWARF_RA] = reference->pc;
	/* libunwind numbers the registers as DWARF does. */
	for (int i = 0; i < MF_DWARF_RA; i++) {
		unw_save_loc_t where;
		unw_word_t value;

		if (libunwind.get_save_loc(&reference->cursor, i, &where))
			continue;
		if (where.type == UNW_SLT_MEMORY && !is_readable(reference, where.u.addr)) {
			missed = true;
			continue;
		}
		if (libunwind.get_reg(&reference->cursor, i, &value))
			continue;
		registers.value[i] = value;
		registers.known |= 1u << i;
	}
	return mf_frame_undo(&object, reference->pc - 1, &registers, &exact, read_word, &missed) == MF_FRAME_DONE ||
	       !missed;
}

/*
 * Returns whether the words that hold the caller's registers are readable. libunwind does not test this, and the rules
 * may be wrong.
 */
static bool can_step(struct reference *reference)
{
	struct mf_cfi_rule rule;
	unw_word_t sp, fp;
	uint64_t cfa;

	mf_cfi_find(reference->pc - 1, &rule);
	if (rule.cfa != MF_CFA_SP && rule.cfa != MF_CFA_FP && rule.cfa != MF_CFA_FP_INDIRECT &&
	    rule.cfa != MF_CFA_FP_LINK)
		return can_step_by_other_rules(reference);
	if (libunwind.get_reg(&reference->cursor, UNW_REG_SP, &sp) ||
	    libunwind.get_reg(&reference->cursor, UNW_X86_64_RBP, &fp))
		return false;
	cfa = (rule.cfa == MF_CFA_SP ? sp : fp) + (uint64_t)(int64_t)rule.cfa_offset;
	if (rule.cfa == MF_CFA_FP_INDIRECT && !read_memory(cfa, &cfa, sizeof(cfa)))
		return false;
	if (rule.cfa == MF_CFA_FP_LINK) {
		if (!read_memory(fp, &cfa, sizeof(cfa)))
			return false;
		cfa += (uint64_t)(int64_t)rule.cfa_offset;
	}
	return is_readable(reference, cfa - 8) &&
	       (rule.fp == MF_FP_KEPT ||
		is_readable(reference, (rule.fp == MF_FP_AT_CFA ? cfa : fp) + (uint64_t)(int64_t)rule.fp_offset));
}

static void step_by_rules(struct reference *reference)
{
	unw_word_t pc;

	if (can_step(reference) && libunwind.step(&reference->cursor) > 0 &&
	    !libunwind.get_reg(&reference->cursor, UNW_REG_IP, &pc))
		reference->pc = pc;
	else
		reference->pc = 0;
}

/*
 * Unwinds one frame whose code has no unwind rules: follows the chain of frame pointers up to a possible return
 * address. libunwind's own method does not advance the stack pointer past the frame, and then looks for the next return
 * address in the wrong place.
 */
static void step_by_frame_pointer(struct reference *reference)
{
	unw_word_t sp, fp;
	uint64_t link[2], bound;

	if (is_start(reference->pc) || libunwind.get_reg(&reference->cursor, UNW_REG_SP, &sp) ||
	    libunwind.get_reg(&reference->cursor, UNW_X86_64_RBP, &fp)) {
		reference->pc = 0;
		return;
	}
	bound = mf_unwind_stack_end(sp);
	for (;; reference->n_links++) {
		if (fp < sp || fp & 7 || fp + sizeof(link) > bound ||
		    !read_memory(fp, link, sizeof(link)) || !link[1]) {
			reference->pc = 0;
			return;
		}
		sp = fp + sizeof(link);
		fp = link[0];
		if (follows_call(link[1]))
			break;
	}
	reference->pc = link[1];
	reference->context.uc_mcontext.gregs[REG_RIP] = (greg_t)link[1];
	reference->context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	reference->context.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
	libunwind.init_local(&reference->cursor, &reference->context);
}

static void go_on(struct reference *reference)
{
	if (has_rules(reference))
		step_by_rules(reference);
	else
		step_by_frame_pointer(reference);
}

/*
 * Returns whether one of the two signals that the C library uses internally is blocked. When libunwind takes a lock, it
 * asks the C library to block all signals. But the C library always leaves its two internal signals out of the mask, so
 * they become unblocked. The C library's timer thread (for SIGEV_THREAD) keeps one of them blocked, and exits if that
 * signal is delivered. So stacks are not checked in such a thread.
 */
static bool has_blocked_internal_signals(void)
{
	const uint64_t internal = 1ull << (32 - 1) | 1ull << (33 - 1);
	uint64_t blocked = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked));
	return blocked & internal;
}

/* Returns false if stacks cannot be checked in this process or thread. */
static bool begin(void)
{
	struct mf_store_header *header = mf_session_store.header;

	/*
	 * A forked child begins with one thread, which is not inside libunwind, so it must not keep the parent's count
	 * of threads inside libunwind. If that count was not 0, some of libunwind's locks may never be released in the
	 * child, so the child must not verify stacks.
	 */
	if (walking_pid != header->pid) {
		if (__atomic_load_n(&walking, __ATOMIC_RELAXED))
			header->verify = MF_VERIFY_FORKED;
		walking = 0;
		walking_pid = header->pid;
	}
	if (header->verify == MF_VERIFY_STACKS && mf_seccomp_is_on())
		header->verify = MF_VERIFY_RESTRICTED;
	if (header->verify != MF_VERIFY_STACKS || has_blocked_internal_signals())
		return false;
	__atomic_add_fetch(&walking, 1, __ATOMIC_SEQ_CST);
	return true;
}

/*
 * Appends @pc to the @n addresses in @pcs. If this completes cycles of at most @longest addresses, removes the shortest
 * of them.
 */
static uint32_t add(uint64_t *pcs, uint32_t n, uint64_t pc, uint32_t longest)
{
	pcs[n] = pc;
	for (uint32_t length = 1; length <= longest && length <= n; length++)
		if (pcs[n - length] == pc)
			return n - length + 1;
	return n + 1;
}

/*
 * Collects the stack as the options require: merges cycles of recursive calls if requested, and limits the depth.
 * Unless cycles are merged, links in the chain of frame pointers that belong to no frame also count towards the depth.
 */
static uint32_t collect(struct verification *v)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t longest = header->merge_recursive, depth = header->depth, n = 0;

	if (depth > MF_DEPTH_MAX)
		depth = MF_DEPTH_MAX;
	while (v->reference.pc && n + (longest ? 0 : v->reference.n_links) < depth) {
		n = add(v->pcs, n, v->reference.pc, longest);
		go_on(&v->reference);
	}
	return n;
}

static void verify(void *data)
{
	struct mf_store_header *header = mf_session_store.header;
	struct verification *v = data;
	uint32_t n = mf_trie_frames(&mf_session_store, v->context, v->frames, MF_DEPTH_MAX);
	uint32_t wanted, i = 0;

	libunwind.init_local(&v->reference.cursor, &v->reference.context);
	v->reference.pc = 1;
	v->reference.n_links = 0;
	v->reference.readable = 0;
	/* The reference walk begins in the shim's own frames. Skip these. */
	while (v->reference.pc && v->reference.pc != v->caller->pc)
		step_by_rules(&v->reference);
	wanted = collect(v);
	while (i < n && i < wanted && v->frames[i].pc == v->pcs[i] - 1)
		i++;
	/* If libunwind could not continue its walk, the remaining frames cannot be checked. */
	if (i == wanted && i < n && i && is_out_of_sight(v->pcs[i - 1]))
		return;
	__atomic_add_fetch(&header->verified, 1, __ATOMIC_RELAXED);
	if (i == n && i == wanted)
		return;
	if (!__atomic_fetch_add(&header->verify_differs, 1, __ATOMIC_RELAXED)) {
		header->differs_context = v->context;
		header->differs_frame = i;
		header->differs_pc = i < wanted ? v->pcs[i] : 0;
	}
}

/*
 * Calls @function on the stack that starts at @top. The frame pointer of call_on_stack() lets a debugger find the
 * callers.
 */
static __attribute__((noinline)) void call_on_stack(void *top, void (*function)(void *data), void *data)
{
	__asm__ volatile("mov	%%rsp, %%rbx\n"
			 "	mov	%1, %%rsp\n"
			 "	call	*%2\n"
			 "	mov	%%rbx, %%rsp\n"
			 : "+D"(data)
			 : "r"(top), "r"(function)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/*
 * Returns the memory in which the current thread compares stacks with libunwind's. It is mapped on the thread's first
 * call. Returns NULL if it cannot be mapped.
 */
static struct verification *own_memory(void)
{
	void **memory = &mf_thread_local.thread->private->verifier, *made;

	if (!*memory) {
		made = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (made == MAP_FAILED)
			return NULL;
		mf_own_memory_note(made, MEMORY_BYTES);
		*memory = made;
	}
	return *memory;
}

void mf_verify_stack(const struct mf_registers *caller, uint32_t context)
{
	struct verification *v = own_memory();
	uint16_t control;

	if (!v || !begin())
		return;
	v->caller = caller;
	v->context = context;
	/*
	 * libunwind saves the x87 environment with fnstenv, which also masks all exceptions, and does not restore it.
	 */
	__asm__ volatile("fnstcw %0" : "=m"(control));
	libunwind.get_context(&v->reference.context);
	__asm__ volatile("fldcw %0" : : "m"(control));
	call_on_stack((char *)v + MEMORY_BYTES, verify, v);
	__atomic_sub_fetch(&walking, 1, __ATOMIC_SEQ_CST);
}

#else

const struct mf_verify_function mf_verify_functions[MF_VERIFY_FUNCTIONS];

bool mf_verify_start(void *handle)
{
	mf_session_store.header->verify = MF_VERIFY_IMPOSSIBLE;
	return false;
}

void mf_verify_stack(const struct mf_registers *caller, uint32_t context)
{
}

#endif
