// SPDX-License-Identifier: GPL-2.0
// Unwinds a stack copy with libunwind: determines a thread's call chain from its registers and stack bytes.
//
// libunwind's remote mode asks us for memory, registers and unwind rules. The memory consists of the stack copy and,
// since code is never written to, the files behind the mappings. The rules come from tables that an unprivileged
// process built from the file (elf/binary.h). libunwind sees only rules that were found to be safe; it reads them at
// addresses outside user space. Every value that libunwind reads from the thread's registers or stack is recorded: two
// stacks with the same values have the same call chain.

#include "pages/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/callsite.h"

/*
 * Maximum distance from the start of an entry point to its call instruction. Needed because ld.so's entry point has no
 * unwind rules.
 */
#define ENTRY_BYTES 64

/* Number of addresses whose rules are cached. The stacks of large programs share most of their outer frames. */
#define CACHE_ADDRESSES 1024

/*
 * Assumed maximum size of a function, used to decide whether an address may lie in the function that a direct call has
 * called.
 */
#define FUNCTION_BYTES (64u << 10)

/*
 * Maximum size of the function that signal handlers return to (the rt_sigreturn trampoline); they return to its first
 * instruction.
 */
#define SIGRETURN_BYTES 64u

/* Number of slots in the cache of is_signal_frame(). */
#define RETURNS 1024u

/* How many bytes of code libunwind compares to recognise a signal frame or a PLT entry. */
#define CODE_BYTES 16u

/* Number of bits in words_read, one for each stack word of the largest copy. */
#define TRACE_WORDS 8192u

/*
 * Maximum number of frame pointers that are followed through code that is not in any file (such as JIT-compiled code),
 * to see whether they lead to code in a mapped file.
 */
#define CHAIN_MAX 256

#if defined(__x86_64__)
#define REG_SP	 UNW_X86_64_RSP
#define REG_FP	 UNW_X86_64_RBP
#elif defined(__aarch64__)
#define REG_SP	 UNW_AARCH64_SP
#define REG_FP	 UNW_AARCH64_X29
#endif

/*
 * libunwind's function for searching a table of unwind rules. libunwind's header does not declare it, but the library
 * exports it for this purpose.
 */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip,
					      unw_dyn_info_t *di, unw_proc_info_t *pi,
					      int need_unwind_info, void *arg);

/*
 * libunwind reads a file's unwind rules as if they were in memory. The address of a word of the rules consists of this
 * bit, the file's number (from bit 32 upwards), and an offset. At offset 0 is a search table with a single entry, which
 * refers to the FDE at the table's base address; find_proc_info() sets the base to the FDE that it found. The file's
 * rules start at offset RULES_ENTRY.
 */
#define RULES_BIT   (1ull << 63)
#define RULES_ENTRY 8u

struct mf_unwinder {
	const struct mf_space *space;
	struct mf_files *files;
	struct mf_code *code;
	unw_addr_space_t address_space;

	/* State of the current walk. */
	const struct mf_user_stack *stack;
	uint64_t regs[MF_TRACE_REGS_MAX]; /* registers of the thread or, after step_by_guess(), of the guessed frame */
	uint32_t regs_valid;		  /* which elements of @regs are valid: one bit per DWARF register number */
	bool regs_initial;		  /* @regs are still the thread's own registers */
	bool no_rules;			  /* the last frame's code has no unwind rules */
	uint64_t ip;			  /* instruction pointer of the current frame */
	/*
	 * the current frame is a signal frame, so access_mem() lets libunwind read the code at @ip; for other code
	 * without unwind rules, access_mem() returns zeros instead of the code
	 */
	bool shows_code;
	struct mf_interval last; /* the mapping from which memory was last read; the next read is usually nearby */

	struct mf_trace trace;
	bool trace_full; /* the walk read more registers or stack words than fit into @trace */
	/*
	 * the result of the walk depends on where the stack copy ends, or on a code address that was not mapped; so the
	 * stack must not be cached
	 */
	bool trace_cut;
	uint32_t regs_read;
	uint64_t words_read[TRACE_WORDS / 64];

	struct {
		uint64_t address; /* code address; 0 marks a free slot */
		bool is_signal;
	} returns[RETURNS]; /* cache of is_signal_frame(), indexed by a hash of the address */
};

static void note_slot(struct mf_unwinder *u, uint64_t offset)
{
	struct mf_trace *trace = &u->trace;
	uint64_t word = offset / 8;

	if (!(offset % 8) && word < TRACE_WORDS) {
		if (u->words_read[word / 64] & 1ull << word % 64)
			return;
		u->words_read[word / 64] |= 1ull << word % 64;
	}
	if (trace->n_slots == MF_TRACE_SLOTS_MAX || offset > UINT32_MAX)
		u->trace_full = true;
	else
		trace->slots[trace->n_slots++] = (uint32_t)offset;
}

/* Reads the stack word at @address. */
static bool read_stack(struct mf_unwinder *u, uint64_t address, uint64_t *value)
{
	const struct mf_user_stack *stack = u->stack;
	uint64_t offset = address - stack->sp;

	if (address < stack->sp || stack->n_bytes < sizeof(*value) ||
	    offset > stack->n_bytes - sizeof(*value))
		return false;
	note_slot(u, offset);
	memcpy(value, stack->bytes + offset, sizeof(*value));
	return true;
}

/* Returns the mapping of the code at @ip, and records that the walk depends on it. */
static const struct mf_interval *find_code(struct mf_unwinder *u, uint64_t ip)
{
	const struct mf_interval *interval = mf_space_find(u->space, ip);

	if (interval)
		mf_code_note(u->code, interval->start, interval->end);
	else
		u->trace_cut = true;
	return interval;
}

static bool read_file(struct mf_unwinder *u, uint64_t address, void *bytes, size_t size)
{
	struct mf_binary *binary;

	if (address < u->last.start || address >= u->last.end) {
		const struct mf_interval *interval = mf_space_find(u->space, address);

		if (!interval)
			return false;
		u->last = *interval;
		if (interval->file)
			mf_code_note(u->code, interval->start, interval->end);
	}
	if (size > u->last.end - address)
		return false;
	binary = mf_files_binary(u->files, u->last.file);
	return binary &&
	       mf_binary_read(binary, u->last.offset + (address - u->last.start), bytes, size);
}

static uint64_t rules_address(uint32_t file, uint32_t offset)
{
	return RULES_BIT | (uint64_t)file << 32 | offset;
}

/*
 * Reads the word at @address in a file's unwind rules. @address is composed as described at RULES_BIT. Returns false if
 * @address is not within a file's rules, because DWARF expressions can make libunwind read from any address.
 */
static bool read_rules(struct mf_unwinder *u, uint64_t address, uint64_t *value)
{
	static const int32_t entry[2] = { INT32_MIN, 0 };
	const struct mf_cfi *cfi;
	uint64_t offset = address & UINT32_MAX;

	_Static_assert(sizeof(entry) == RULES_ENTRY && sizeof(entry) == sizeof(*value), "one word");
	if (!(address & RULES_BIT))
		return false;
	cfi = mf_files_rules(u->files, (uint32_t)(address >> 32 & INT32_MAX));
	if (!cfi)
		return false;
	if (offset < RULES_ENTRY) {
		memcpy(value, entry, sizeof(*value));
		return !offset;
	}
	offset -= RULES_ENTRY;
	if (cfi->size < sizeof(*value) || offset > cfi->size - sizeof(*value))
		return false;
	memcpy(value, cfi->rules + offset, sizeof(*value));
	return true;
}

/* Returns whether the word at @address comes from a mapped ELF file. */
static bool is_in_binary(struct mf_unwinder *u, uint64_t address)
{
	const struct mf_interval *interval = mf_space_find(u->space, address);
	struct mf_binary *binary = interval ? mf_files_binary(u->files, interval->file) : NULL;

	return binary && interval->end - address >= sizeof(uint64_t) &&
	       mf_binary_has(binary, interval->offset + (address - interval->start), sizeof(uint64_t));
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct mf_unwinder *u = arg;

	if (write)
		return -UNW_EINVAL;
	if (read_stack(u, address, value) || read_rules(u, address, value))
		return 0;
	/*
	 * If code has no rules, libunwind reads it to check that it exists and whether it is a signal frame or a PLT
	 * entry. The answers are already known or are not used, so return 0 instead of the code: reading it would
	 * require a child process.
	 */
	if (u->no_rules && !u->shows_code && address - u->ip < CODE_BYTES && is_in_binary(u, address)) {
		*value = 0;
		return 0;
	}
	if (read_file(u, address, value, sizeof(*value)))
		return 0;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	struct mf_unwinder *u = arg;

	if (write || reg < 0 || reg >= MF_TRACE_REGS_MAX || !(u->regs_valid & 1u << reg))
		return -UNW_EBADREG;
	if (u->regs_initial)
		u->regs_read |= 1u << reg;
	*value = u->regs[reg];
	return 0;
}

/* Not supported: libunwind never needs a floating-point register to find an integer register. */
static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	return -UNW_EBADREG;
}

/*
 * Finds the unwind rules for the code at @ip, which is in @interval. Sets *@bias to the run-time address minus the
 * link-time address.
 */
static bool find_rules(struct mf_unwinder *u, const struct mf_interval *interval, uint64_t ip,
		       struct mf_cfi_found *found, uint64_t *bias)
{
	struct mf_binary *binary = mf_files_binary(u->files, interval->file);
	uint64_t address;

	if (!binary || !mf_elf_summary_address(mf_binary_summary(binary), interval->offset + (ip - interval->start),
					       &address))
		return false;
	*bias = ip - address;
	return mf_cfi_find(mf_binary_cfi(binary), address, found);
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct mf_unwinder *u = arg;
	const struct mf_interval *interval = find_code(u, ip);
	unw_dyn_info_t dynamic = { .format = UNW_INFO_FORMAT_REMOTE_TABLE, .end_ip = UINT64_MAX };
	struct mf_cfi_found found;
	uint64_t bias, base;
	int ret;

	u->no_rules = true;
	if (!interval || interval->file > INT32_MAX || !find_rules(u, interval, ip, &found, &bias))
		return -UNW_ENOINFO;
	/*
	 * Give libunwind the table at offset 0 of the file's rules (see RULES_BIT), which has one entry. The entry is
	 * relative to segbase, the address of the FDE.
	 */
	dynamic.u.rti.segbase = rules_address(interval->file, RULES_ENTRY + found.rules);
	dynamic.u.rti.table_data = rules_address(interval->file, 0);
	dynamic.u.rti.table_len = RULES_ENTRY / sizeof(unw_word_t);
	/* Start addresses in the FDE are relative to the lowest address at which the object is loaded. */
	base = mf_binary_cfi(mf_files_binary(u->files, interval->file))->base + bias;
	ret = UNW_OBJ(dwarf_search_unwind_table)(u->address_space, ip - base, &dynamic, info, need_unwind_info, u);
	if (ret < 0)
		return ret;
	info->start_ip += base;
	info->end_ip += base;
	u->no_rules = false;
	return ret;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
}

static int get_dyn_info_list(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t ip, char *name, size_t size,
			 unw_word_t *offset, void *arg)
{
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
	.get_proc_name = get_proc_name,
};

int mf_unwinder_create(const struct mf_space *space, struct mf_files *files, struct mf_code *code,
		       struct mf_unwinder **unwinder, struct mf_error *err)
{
	struct mf_unwinder *u = calloc(1, sizeof(*u));

	if (u)
		u->address_space = unw_create_addr_space(&accessors, 0);
	if (!u || !u->address_space) {
		free(u);
		return mf_error_set(err, -ENOMEM, "no memory for an unwinder");
	}
	u->space = space;
	u->files = files;
	u->code = code;
	unw_set_caching_policy(u->address_space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(u->address_space, CACHE_ADDRESSES, 0);
	*unwinder = u;
	return 0;
}

void mf_unwinder_destroy(struct mf_unwinder *unwinder)
{
	if (!unwinder)
		return;
	unw_destroy_addr_space(unwinder->address_space);
	free(unwinder);
}

void mf_unwinder_flush(struct mf_unwinder *unwinder)
{
	unw_flush_cache(unwinder->address_space, 0, 0);
	memset(unwinder->returns, 0, sizeof(unwinder->returns));
}

/* The code to which a signal handler returns: the rt_sigreturn system call. */
#if defined(__x86_64__)
static const uint8_t sigreturn_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
static const uint8_t sigreturn_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif

/* Returns whether @ip is in the entry point of a program or of ld.so, which has no caller. */
static bool is_entry(struct mf_unwinder *u, uint64_t ip)
{
	const struct mf_interval *interval = mf_space_find(u->space, ip);
	struct mf_binary *binary = interval ? mf_files_binary(u->files, interval->file) : NULL;
	const struct mf_elf_summary *summary = binary ? mf_binary_summary(binary) : NULL;
	uint64_t address;

	return summary &&
	       mf_elf_summary_address(summary, interval->offset + (ip - interval->start), &address) &&
	       address - summary->entry < ENTRY_BYTES;
}

/*
 * Returns whether a signal handler may return to the code at @ip. Returns false if the unwind rules of the code show
 * that no signal handler returns there, or if @ip is in an entry point without rules.
 */
static bool may_be_signal_frame(struct mf_unwinder *u, const struct mf_interval *interval, uint64_t ip)
{
	struct mf_cfi_found found;
	uint64_t bias;

	if (!find_rules(u, interval, ip, &found, &bias))
		return !is_entry(u, ip);
	return found.signal || (ip == found.begin + bias && found.size <= SIGRETURN_BYTES);
}

/*
 * Returns whether @ip is an address to which signal handlers return. libunwind's unw_is_signal_frame() is not used,
 * because in some versions of libunwind it refers to the current frame and in others to the frame that the last
 * unw_step() left. Reading the code at @ip requires a child process, so the code is compared only if the frame may be a
 * signal frame.
 */
static bool is_signal_frame(struct mf_unwinder *u, uint64_t ip)
{
	const struct mf_interval *interval;
	uint8_t bytes[sizeof(sigreturn_code)];
	size_t slot = (ip ^ ip >> 10) % RETURNS;
	bool is_signal;

	if (ip && u->returns[slot].address == ip)
		return u->returns[slot].is_signal;
	interval = mf_space_find(u->space, ip);
	if (!interval || !interval->file)
		return false;
	mf_code_note(u->code, interval->start, interval->end);
	is_signal = may_be_signal_frame(u, interval, ip) && read_file(u, ip, bytes, sizeof(bytes)) &&
		    !memcmp(bytes, sigreturn_code, sizeof(bytes));
	u->returns[slot].address = ip;
	u->returns[slot].is_signal = is_signal;
	return is_signal;
}

/*
 * Returns whether @ip is in a file and follows a call instruction. *@target is the called address, or 0 if the
 * instruction does not contain it.
 */
static bool follows_call(struct mf_unwinder *u, uint64_t ip, uint64_t *target)
{
	uint8_t code[MF_CALLSITE_BYTES];
	int64_t distance = 0;
	bool follows = read_file(u, ip - sizeof(code), code, sizeof(code)) &&
		       mf_callsite_ends(code + sizeof(code), sizeof(code), &distance);

	*target = distance ? ip + (uint64_t)distance : 0;
	return follows;
}

/* A frame that was found without unwind rules. */
struct guess {
	uint64_t ip, sp, fp;
};

/*
 * Changes *@at to its caller's frame, found through the frame pointer. If the caller's code is in a mapped file,
 * *@certain is set to true, and the return address must follow a call instruction. Code that is in no file cannot be
 * read, so any return address is accepted there. Returns false if there is no plausible caller.
 */
static bool guess_by_pointer(struct mf_unwinder *u, struct guess *at, bool *certain)
{
	struct guess caller = {.sp = at->fp + 16};
	const struct mf_interval *interval;
	uint64_t target;

	*certain = false;
	if (at->fp < at->sp || at->fp % 8 || !read_stack(u, at->fp, &caller.fp) ||
	    !read_stack(u, at->fp + 8, &caller.ip))
		return false;
	interval = find_code(u, caller.ip);
	if (!interval || (u->stack->sp >= interval->start && u->stack->sp < interval->end))
		return false;
	*at = caller;
	*certain = interval->file;
	return !interval->file || follows_call(u, caller.ip, &target);
}

/*
 * Like guess_by_pointer(), but succeeds only if the chain of frame pointers leads to code in a mapped file, or is
 * CHAIN_MAX frames long, which is too long to be a coincidence.
 */
static bool guess_caller(struct mf_unwinder *u, struct guess *at)
{
	struct guess first = *at, next;
	bool certain;

	if (!guess_by_pointer(u, &first, &certain))
		return false;
	next = first;
	for (int i = 0; !certain && i < CHAIN_MAX; i++)
		if (!guess_by_pointer(u, &next, &certain))
			return false;
	*at = first;
	return true;
}

/*
 * Guesses the caller of the innermost function when that function has not yet set up its frame: the word at sp is the
 * return address.
 */
static bool guess_leaf(struct mf_unwinder *u, struct guess *at)
{
	uint64_t ip, target;

	if (!read_stack(u, at->sp, &ip) || !find_code(u, ip) ||
	    !follows_call(u, ip, &target) || at->ip - target >= FUNCTION_BYTES)
		return false;
	*at = (struct guess){.ip = ip, .sp = at->sp + 8, .fp = at->fp};
	return true;
}

/* Continues the walk at the frame @guess. Its registers other than those in @guess are unknown. */
static bool go_on(struct mf_unwinder *u, unw_cursor_t *cursor, const struct guess *guess)
{
	uint32_t ip = u->stack->n_regs - 1;

	u->regs_initial = false;
	u->regs[ip] = guess->ip - 1;
	u->regs[REG_SP] = guess->sp;
	u->regs[REG_FP] = guess->fp;
	u->regs_valid = 1u << ip | 1u << REG_SP | 1u << REG_FP;
	return !unw_init_remote(cursor, u->address_space, u);
}

/* Steps from the frame at @cursor, whose code has no rules, to its caller. */
static bool step_by_guess(struct mf_unwinder *u, unw_cursor_t *cursor, bool innermost,
			  enum mf_unwind_end *end)
{
	struct guess guess;
	unw_word_t ip, sp, fp;

	*end = MF_UNWIND_NO_RULES;
	if (unw_get_reg(cursor, UNW_REG_IP, &ip))
		return false;
	if (is_entry(u, ip)) {
		*end = MF_UNWIND_OUTERMOST;
		return false;
	}
	if (unw_get_reg(cursor, REG_SP, &sp) || unw_get_reg(cursor, REG_FP, &fp))
		return false;
	/* Code that uses frame pointers marks the outermost frame with a frame pointer of 0. */
	if (!fp && !u->regs_initial) {
		*end = MF_UNWIND_OUTERMOST;
		return false;
	}
	guess = (struct guess){.ip = ip, .sp = sp, .fp = fp};
	return ((innermost && guess_leaf(u, &guess)) || guess_caller(u, &guess)) &&
	       go_on(u, cursor, &guess);
}

static void begin(struct mf_unwinder *u, const struct mf_user_stack *stack)
{
	u->stack = stack;
	u->no_rules = false;
	u->last = (struct mf_interval){0};
	u->regs_initial = true;
	u->regs_valid = 0;
	for (uint32_t i = 0; i < stack->n_regs && i < MF_TRACE_REGS_MAX; i++) {
		u->regs[i] = stack->regs[i];
		u->regs_valid |= 1u << i;
	}
	u->trace.n_regs = 0;
	u->trace.n_slots = 0;
	u->trace_full = false;
	u->trace_cut = false;
	u->regs_read = 0;
	memset(u->words_read, 0, sizeof(u->words_read));
}

static void finish(struct mf_unwinder *u, const struct mf_walk *walk)
{
	uint32_t given = 1u << REG_SP | 1u << (u->stack->n_regs - 1);

	/*
	 * If a stack copy was not truncated at the size limit, it ends at the end of the stack's mapping or at
	 * unreadable memory. If the walk ended there, another stack may contain the same words and continue beyond that
	 * point, so the result of the walk must not be cached.
	 */
	u->trace_cut |= walk->end == MF_UNWIND_CUT && !u->stack->at_limit;
	for (uint8_t i = 0; i < MF_TRACE_REGS_MAX; i++)
		if (u->regs_read & ~given & 1u << i)
			u->trace.regs[u->trace.n_regs++] = i;
}

static void walk_frames(struct mf_unwinder *u, unw_cursor_t *cursor, uint32_t max,
			struct mf_walk *walk)
{
	bool exact = true, guessed = false;

	for (;;) {
		unw_cursor_t here;
		bool signal_frame;
		unw_word_t ip;
		int ret;

		if (unw_get_reg(cursor, UNW_REG_IP, &ip) || (!ip && walk->n)) {
			walk->end = MF_UNWIND_OUTERMOST;
			return;
		}
		walk->guessed[walk->n] = guessed;
		walk->addresses[walk->n++] = exact ? ip : ip - 1;
		if (walk->n == max) {
			walk->end = MF_UNWIND_FULL;
			return;
		}
		signal_frame = is_signal_frame(u, ip);
		u->ip = ip;
		u->shows_code = signal_frame;
		here = *cursor;
		ret = unw_step(cursor);
		/*
		 * Without rules, libunwind follows the frame pointer, whatever it points to. Use step_by_guess()
		 * instead, which checks that the result looks like a caller.
		 */
		guessed = u->no_rules && !signal_frame;
		u->no_rules = false;
		if (guessed) {
			*cursor = here;
			if (!step_by_guess(u, cursor, walk->n == 1, &walk->end))
				return;
		} else if (ret <= 0) {
			walk->end = ret ? MF_UNWIND_CUT : MF_UNWIND_OUTERMOST;
			return;
		}
		/*
		 * Normally the code address of the next frame is its return address minus one. But an address at which
		 * a signal arrived is exact, and after a guess, go_on() has already subtracted one.
		 */
		exact = signal_frame || guessed;
	}
}

void mf_unwinder_walk(struct mf_unwinder *u, const struct mf_user_stack *stack, uint32_t max,
		      struct mf_walk *walk)
{
	unw_cursor_t cursor;

	walk->n = 0;
	walk->end = MF_UNWIND_CUT;
	u->trace_cut = true;
	if (!stack->n_regs || !max)
		return;
	begin(u, stack);
	if (unw_init_remote(&cursor, u->address_space, u)) {
		walk->guessed[0] = false;
		walk->addresses[walk->n++] = stack->regs[stack->n_regs - 1];
	} else {
		walk_frames(u, &cursor, max, walk);
	}
	finish(u, walk);
}

const struct mf_trace *mf_unwinder_trace(const struct mf_unwinder *u)
{
	return u->trace_full || u->trace_cut ? NULL : &u->trace;
}
