// SPDX-License-Identifier: GPL-2.0
// From a thread's registers and a copy of its stack to its call chain, by libunwind.
//
// libunwind's remote mode asks us for memory, registers and unwind rules. Memory is the copy of the
// stack and, since code and .eh_frame are never written, the files behind the mappings. Rules are
// found by libunwind's own search in the file's .eh_frame_hdr.

#include "pages/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The call in an entry point is not further from it; that of ld.so has no unwind rules. */
#define ENTRY_BYTES 64

/* Addresses whose rules are remembered; big programs' stacks share most of their outer frames. */
#define CACHE_ADDRESSES 1024

/* Not in libunwind's header, but in its library for this very purpose. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip,
					      unw_dyn_info_t *di, unw_proc_info_t *pi,
					      int need_unwind_info, void *arg);

struct mf_unwinder {
	const struct mf_space *space;
	struct mf_files *files;
	unw_addr_space_t address_space;
	const struct mf_user_stack *stack; /* of the walk under way */
	bool no_rules;			   /* it came to code without rules */
	struct mf_interval last; /* where memory was read last: the next read is near it */
};

static bool read_file(struct mf_unwinder *u, uint64_t address, void *bytes, size_t size)
{
	struct mf_binary *binary;

	if (address < u->last.start || address >= u->last.end) {
		const struct mf_interval *interval = mf_space_find(u->space, address);

		if (!interval)
			return false;
		u->last = *interval;
	}
	if (size > u->last.end - address)
		return false;
	binary = mf_files_binary(u->files, u->last.file);
	return binary &&
	       mf_binary_read(binary, u->last.offset + (address - u->last.start), bytes, size);
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct mf_unwinder *u = arg;
	const struct mf_user_stack *stack = u->stack;

	if (write)
		return -UNW_EINVAL;
	if (address >= stack->sp && stack->n_bytes >= sizeof(*value) &&
	    address - stack->sp <= stack->n_bytes - sizeof(*value)) {
		memcpy(value, stack->bytes + (address - stack->sp), sizeof(*value));
		return 0;
	}
	return read_file(u, address, value, sizeof(*value)) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct mf_user_stack *stack = ((struct mf_unwinder *)arg)->stack;

	if (write || reg < 0 || (uint32_t)reg >= stack->n_regs)
		return -UNW_EBADREG;
	*value = stack->regs[reg];
	return 0;
}

/* No rule of an integer register's place depends on these. */
static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	return -UNW_EBADREG;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct mf_unwinder *u = arg;
	const struct mf_interval *interval = mf_space_find(u->space, ip);
	uint64_t offset, code, header, table, n_entries;
	unw_dyn_info_t dynamic = {0};
	struct mf_binary *binary;
	int ret;

	u->no_rules = true;
	if (!interval)
		return -UNW_ENOINFO;
	binary = mf_files_binary(u->files, interval->file);
	offset = interval->offset + (ip - interval->start);
	if (!binary || !mf_binary_address(binary, offset, &code) ||
	    !mf_binary_unwind_table(binary, &header, &table, &n_entries))
		return -UNW_ENOINFO;

	dynamic.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	dynamic.start_ip = interval->start;
	dynamic.end_ip = interval->end;
	dynamic.u.rti.segbase = header + (ip - code);
	dynamic.u.rti.table_data = table + (ip - code);
	dynamic.u.rti.table_len = n_entries * 8 / sizeof(unw_word_t);
	ret = UNW_OBJ(dwarf_search_unwind_table)(as, ip, &dynamic, info, need_unwind_info, arg);
	if (ret < 0)
		return ret;
	u->no_rules = false;
	mf_files_get(u->files, interval->file)->has_code = true;
	return 0;
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

int mf_unwinder_create(const struct mf_space *space, struct mf_files *files,
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
}

/* What the code to which a signal handler returns looks like: the call of rt_sigreturn. */
#if defined(__x86_64__)
static const uint8_t sigreturn_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
static const uint8_t sigreturn_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif

/* Not libunwind's: which of the two frames it calls a signal's differs between its versions. */
static bool is_signal_frame(struct mf_unwinder *u, uint64_t ip)
{
	uint8_t bytes[sizeof(sigreturn_code)];

	return read_file(u, ip, bytes, sizeof(bytes)) &&
	       !memcmp(bytes, sigreturn_code, sizeof(bytes));
}

/* Whether @ip is in the first instructions of a process, where nobody has called. */
static bool is_entry(struct mf_unwinder *u, uint64_t ip)
{
	const struct mf_interval *interval = mf_space_find(u->space, ip);
	struct mf_binary *binary = interval ? mf_files_binary(u->files, interval->file) : NULL;
	uint64_t address;

	return binary &&
	       mf_binary_address(binary, interval->offset + (ip - interval->start), &address) &&
	       address - mf_binary_entry(binary) < ENTRY_BYTES;
}

uint32_t mf_unwinder_walk(struct mf_unwinder *u, const struct mf_user_stack *stack,
			  uint64_t *addresses, uint32_t max, enum mf_unwind_end *end)
{
	unw_cursor_t cursor;
	bool exact = true;
	uint32_t n = 0;

	*end = MF_UNWIND_CUT;
	if (!stack->n_regs || !max)
		return 0;
	u->stack = stack;
	u->no_rules = false;
	u->last = (struct mf_interval){0};
	if (unw_init_remote(&cursor, u->address_space, u)) {
		addresses[n++] = stack->regs[stack->n_regs - 1];
		return n;
	}
	for (;;) {
		unw_word_t ip;
		bool signal_frame;
		int ret;

		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || (!ip && n)) {
			*end = MF_UNWIND_OUTERMOST;
			break;
		}
		addresses[n++] = exact ? ip : ip - 1;
		if (n == max) {
			*end = MF_UNWIND_FULL;
			break;
		}
		signal_frame = is_signal_frame(u, ip);
		ret = unw_step(&cursor);
		/*
		 * Without rules libunwind guesses from the frame pointer, which most code does not
		 * keep: a short chain is better than a wrong one.
		 */
		if (u->no_rules && !signal_frame) {
			*end = is_entry(u, ip) ? MF_UNWIND_OUTERMOST : MF_UNWIND_NO_RULES;
			break;
		}
		if (ret <= 0) {
			*end = ret ? MF_UNWIND_CUT : MF_UNWIND_OUTERMOST;
			break;
		}
		u->no_rules = false;
		exact = signal_frame;
	}
	return n;
}
