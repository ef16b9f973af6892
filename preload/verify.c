// SPDX-License-Identifier: GPL-2.0
// Compares each stack with a fresh walk by libunwind.
//
// It is loaded by dlopen, since what it exports must not come before libgcc's functions of the same
// names; and only when it is asked for.

#include "verify.h"

#include <dlfcn.h>

#include "model/trie.h"
#include "session.h"

#ifdef __x86_64__

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* libunwind's names carry the architecture; its header knows how. */
#define NAME(symbol)	NAME_OF(symbol)
#define NAME_OF(symbol) #symbol

static struct {
	int (*get_context)(unw_context_t *context);
	int (*init_local)(unw_cursor_t *cursor, unw_context_t *context);
	int (*get_reg)(unw_cursor_t *cursor, int reg, unw_word_t *value);
	int (*step)(unw_cursor_t *cursor);
} libunwind;

bool mf_verify_start(void)
{
	void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (handle) {
		libunwind.get_context = (int (*)(unw_context_t *))dlsym(handle, "_Ux86_64_getcontext");
		libunwind.init_local = (int (*)(unw_cursor_t *, unw_context_t *))
			dlsym(handle, NAME(unw_init_local));
		libunwind.get_reg = (int (*)(unw_cursor_t *, int, unw_word_t *))
			dlsym(handle, NAME(unw_get_reg));
		libunwind.step = (int (*)(unw_cursor_t *))dlsym(handle, NAME(unw_step));
	}
	if (!libunwind.get_context || !libunwind.init_local || !libunwind.get_reg ||
	    !libunwind.step) {
		mf_session_store.header->verify = MF_VERIFY_IMPOSSIBLE;
		return false;
	}
	return true;
}

/* The next return address; 0 at the end. */
static uint64_t next(unw_cursor_t *cursor)
{
	unw_word_t pc;

	return libunwind.step(cursor) > 0 && !libunwind.get_reg(cursor, UNW_REG_IP, &pc) ? pc : 0;
}

void mf_verify_stack(const struct mf_registers *caller, uint32_t context)
{
	struct mf_store_header *header = mf_session_store.header;
	struct mf_frame frames[MF_DEPTH_MAX];
	uint32_t n = mf_trie_frames(&mf_session_store, context, frames, MF_DEPTH_MAX), i = 0;
	unw_context_t here;
	unw_cursor_t cursor;
	uint64_t pc = 1;

	libunwind.get_context(&here);
	libunwind.init_local(&cursor, &here);
	/* The shim's own frames. */
	while (pc && pc != caller->pc)
		pc = next(&cursor);
	for (; i < n && pc && frames[i].pc == pc - 1; i++)
		pc = next(&cursor);
	__atomic_add_fetch(&header->verified, 1, __ATOMIC_RELAXED);
	/* A stack that was cut to its depth goes on. */
	if (i == n && (!pc || n == header->depth))
		return;
	if (!__atomic_fetch_add(&header->verify_differs, 1, __ATOMIC_RELAXED)) {
		header->differs_context = context;
		header->differs_frame = i;
		header->differs_pc = pc;
	}
}

#else

bool mf_verify_start(void)
{
	mf_session_store.header->verify = MF_VERIFY_IMPOSSIBLE;
	return false;
}

void mf_verify_stack(const struct mf_registers *caller, uint32_t context)
{
}

#endif
