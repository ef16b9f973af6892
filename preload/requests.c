// SPDX-License-Identifier: GPL-2.0
// Client requests: found in the program's code, redirected, and answered.
//
// The sequence is long enough that it is none by chance. But a program may have it as data, in a
// segment that holds both: where constants lie beside the code, only what an unwind table tells of is
// taken for code.
//
// An object that is loaded again often comes to lie where it was. Then its sites are where they were,
// and lead to the same trampolines.

#include "requests.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "command.h"
#include "patch.h"
#include "session.h"
#include "thread.h"
#include "track.h"
#include "trampoline.h"
#include "unwind.h"

#define ORIGINS_MAX 512u

/* Code that had requests when it came, with its trampolines, in the order of their sites. */
struct origin {
	uint64_t start, end;
	struct mf_trampoline *first;
};

static struct origin origins[ORIGINS_MAX];
static uint32_t n_origins;

/* Not ours are left to the program: they give @unheard, as if nobody had been there. */
static uint64_t answer(const struct mf_trampoline_frame *frame, uint64_t unheard)
{
	const struct mf_registers caller = {
		.pc = frame->pc, .sp = frame->sp, .fp = frame->fp, .exact = true,
	};
	const void *pointer = (const void *)(uintptr_t)frame->args[1];

	if (!mf_session_is_active())
		return unheard;
	switch ((enum mf_request)frame->args[0]) {
	case MF_REQUEST_MALLOCLIKE_BLOCK:
		mf_track_made(pointer, frame->args[2], &caller);
		return 0;
	case MF_REQUEST_FREELIKE_BLOCK:
		mf_track_free_at(pointer, &caller);
		return 0;
	case MF_REQUEST_RESIZEINPLACE_BLOCK:
		mf_track_resized(pointer, frame->args[3], &caller);
		return 0;
	case MF_REQUEST_MONITOR_COMMAND:
		return mf_command_execute(pointer);
	}
	return unheard;
}

void mf_requests_start(void)
{
	mf_trampoline_start(answer);
}

/* Whether the object's constants are not among its code: it has a segment for the ELF header. */
static bool is_separate(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && !header->p_offset)
			return !(header->p_flags & PF_X);
	}
	return false;
}

static struct origin *find_origin(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_origins; i++)
		if (origins[i].start == start && origins[i].end == end)
			return &origins[i];
	if (n_origins == ORIGINS_MAX)
		return NULL;
	origins[n_origins] = (struct origin){ .start = start, .end = end };
	return &origins[n_origins];
}

/* The first request from @at on, or NULL. */
static const uint8_t *find_request(const uint8_t *at, const uint8_t *end, bool separate)
{
	while ((at = mf_trampoline_find_site(at, (size_t)(end - at)))) {
		if (separate || mf_cfi_find((uintptr_t)at).cfa != MF_CFA_NONE)
			return at;
		at += MF_TRAMPOLINE_SITE_BYTES;
	}
	return NULL;
}

/* Are the requests those that @list is for? */
static bool are_known(const struct mf_trampoline *list, const uint8_t *at, const uint8_t *end,
		      bool separate)
{
	for (; list && (at = find_request(at, end, separate)); list = list->next) {
		if (mf_trampoline_site(list) != at)
			return false;
		at += MF_TRAMPOLINE_SITE_BYTES;
	}
	return !list && !find_request(at, end, separate);
}

/* A list of trampolines for the requests from @at on. *@failed of them could not be made. */
static struct mf_trampoline *make_trampolines(const uint8_t *at, const uint8_t *end, bool separate,
					      uint32_t *failed, int *code)
{
	struct mf_trampoline *list = NULL, **last = &list;

	for (; (at = find_request(at, end, separate)); at += MF_TRAMPOLINE_SITE_BYTES) {
		void *room;
		int made = mf_patch_room(at, sizeof(struct mf_trampoline), &room);

		if (made) {
			*code = made;
			(*failed)++;
			continue;
		}
		*last = room;
		mf_trampoline_make(*last, at);
		(*last)->next = NULL;
		last = &(*last)->next;
	}
	return list;
}

static void count_missed(uint32_t n, int code)
{
	bool inside = mf_thread_local.inside;

	/* A forked child has its profile from here on; or none. The first objects come before there is one. */
	mf_thread_local.inside = true;
	if (!mf_session_is_active() || mf_thread_get()) {
		mf_session_store.header->requests_missed += n;
		mf_session_store.header->requests_error = -code;
	}
	mf_thread_local.inside = inside;
}

/* The code from @start to @end. */
static void redirect(uint64_t start, uint64_t end, bool separate)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)start;
	const uint8_t *behind = (const uint8_t *)(uintptr_t)end;
	struct origin *origin = find_origin(start, end);
	struct mf_trampoline *list = origin ? origin->first : NULL;
	uint32_t failed = 0;
	int code = 0, sealed = 0;

	if (!list || !are_known(list, at, behind, separate)) {
		list = make_trampolines(at, behind, separate, &failed, &code);
		if (list)
			sealed = mf_patch_seal();
	}
	for (struct mf_trampoline *i = list; i; i = i->next) {
		int written = sealed ? sealed : mf_patch_jump(mf_trampoline_site(i), i);

		if (written) {
			code = written;
			failed++;
		}
	}
	if (failed)
		count_missed(failed, code);
	if (!origin || !list || sealed)
		return;
	n_origins += !origin->first;
	origin->first = list;
}

void mf_requests_arrived(const struct dl_phdr_info *info)
{
	bool separate = is_separate(info);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_X && header->p_flags & PF_R)
			redirect(start, start + header->p_filesz, separate);
	}
}
