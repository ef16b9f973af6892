// SPDX-License-Identifier: GPL-2.0
// Client requests: found in the program's code, redirected, and answered.
//
// The sequence is long enough that it is none by chance. But a program may have it as data, in a
// segment that holds both: where constants lie beside the code, only what an unwind table tells of is
// taken for code.
//
// In a large program the search takes longer than all else at the start: each page of its code has to be
// mapped for it. That there is no request in an object is kept for the next program (rowcache.h).
//
// An object that is loaded again often comes to lie where it was. Then its sites are where they were,
// and lead to the same trampolines.

#include "requests.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "monitor_command.h"
#include "patch.h"
#include "stack/rowcache.h"
#include "core/session.h"
#include "core/thread.h"
#include "event/slowpath.h"
#include "trampoline.h"
#include "stack/unwind.h"

#define ORIGINS_MAX 512u

/* Of code: less is looked through in less time than a file takes to be written. */
#define NOTED_LEAST (256u << 10)

/* Code that had requests when it came, with its trampolines, in the order of their sites. */
struct origin {
	uint64_t start, end;
	struct mf_trampoline *first;
};

static struct origin origins[ORIGINS_MAX];
static uint32_t n_origins;
static bool wanted; /* not to be asked of the session: a forked child may have none yet */

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
		mf_slowpath_made(pointer, frame->args[2], &caller);
		return 0;
	case MF_REQUEST_FREELIKE_BLOCK:
		mf_slowpath_free_at(pointer, &caller);
		return 0;
	case MF_REQUEST_RESIZEINPLACE_BLOCK:
		mf_slowpath_resized(pointer, frame->args[3], &caller);
		return 0;
	case MF_REQUEST_MONITOR_COMMAND:
		return mf_command_execute(pointer);
	}
	return unheard;
}

void mf_requests_start(void)
{
	wanted = mf_session_store.header->hears_requests;
	mf_trampoline_start(answer);
}

/*
 * The object's sorted table of what its unwind information is about, in .eh_frame_hdr; NULL if there is
 * none of the form that linkers make. The dynamic linker does not tell of it yet, when an object has
 * just come.
 */
struct table {
	uint8_t version, frame_encoding, count_encoding, entry_encoding;
	int32_t frame;
	uint32_t count;
	struct {
		int32_t start, description; /* from the table's address */
	} entries[];
};

/* Where @size bytes of it can be read: its headers may say more than what was mapped. */
static bool is_there(const struct dl_phdr_info *info, uint64_t address, uint64_t size)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t at = address - info->dlpi_addr - header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_R && at < header->p_filesz &&
		    size <= header->p_filesz - at)
			return true;
	}
	return false;
}

static const struct table *find_table(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const struct table *table = (const void *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type != PT_GNU_EH_FRAME || header->p_memsz < sizeof(*table) ||
		    !is_there(info, (uintptr_t)table, header->p_memsz))
			continue;
		if (table->version == 1 && table->frame_encoding == 0x1b &&
		    table->count_encoding == 0x03 && table->entry_encoding == 0x3b &&
		    table->count <= (header->p_memsz - sizeof(*table)) / sizeof(table->entries[0]))
			return table;
	}
	return NULL;
}

/* Whether the object's unwind information says that there is code at @address. */
static bool is_told_of(const struct dl_phdr_info *info, const struct table *table, uint64_t address)
{
	uint32_t low = 0, high = table ? table->count : 0;
	/* Of a description: its length, which CIE it has, where its code is from here, how long that is. */
	int32_t description[4];
	uint64_t start, at;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((uintptr_t)table + (uint64_t)(int64_t)table->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	start = (uintptr_t)table + (uint64_t)(int64_t)table->entries[low - 1].start;
	at = (uintptr_t)table + (uint64_t)(int64_t)table->entries[low - 1].description;
	if (!is_there(info, at, sizeof(description)))
		return false;
	memcpy(description, (const void *)(uintptr_t)at, sizeof(description));
	/* With another encoding, this is something else. */
	return at + 8 + (uint64_t)(int64_t)description[2] == start &&
	       address - start < (uint32_t)description[3];
}

/* Code in which requests are looked for. */
struct code {
	const struct dl_phdr_info *object;
	const uint8_t *at, *end;
	bool mixed; /* constants may be among it: the ELF header is, */
	const struct table *table; /* and this tells what is code */
	bool any; /* something was there that looks like a request */
};

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
static const uint8_t *find_request(struct code *code, const uint8_t *at)
{
	while ((at = mf_request_site_find(at, (size_t)(code->end - at)))) {
		code->any = true;
		if (!code->mixed || is_told_of(code->object, code->table, (uintptr_t)at))
			return at;
		at += MF_REQUEST_SITE_BYTES;
	}
	return NULL;
}

/* Are the requests those that @list is for? */
static bool are_known(const struct mf_trampoline *list, struct code *code)
{
	const uint8_t *at = code->at;

	for (; list && (at = find_request(code, at)); list = list->next) {
		if (mf_trampoline_site(list) != at)
			return false;
		at += MF_REQUEST_SITE_BYTES;
	}
	return !list && !find_request(code, at);
}

/* A list of trampolines for all requests. *@failed of them could not be made, because of *@error. */
static struct mf_trampoline *make_trampolines(struct code *code, uint32_t *failed, int *error)
{
	struct mf_trampoline *list = NULL, **last = &list;
	const uint8_t *at = code->at;

	for (; (at = find_request(code, at)); at += MF_REQUEST_SITE_BYTES) {
		void *room;
		int made = mf_patch_room(at, sizeof(struct mf_trampoline), &room);

		if (made) {
			*error = made;
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
	uint8_t inside = mf_thread_local.inside;

	/* A forked child has its profile from here on; or none. The first objects come before there is one. */
	mf_thread_local.inside = true;
	if (!mf_session_is_active() || mf_thread_get()) {
		mf_session_store.header->requests_missed += n;
		mf_session_store.header->requests_error = -code;
	}
	mf_thread_local.inside = inside;
}

static void redirect(struct code *code)
{
	struct origin *origin = find_origin((uintptr_t)code->at, (uintptr_t)code->end);
	struct mf_trampoline *list = origin ? origin->first : NULL;
	uint32_t failed = 0;
	int error = 0, sealed = 0;

	if (!list || !are_known(list, code)) {
		list = make_trampolines(code, &failed, &error);
		if (list)
			sealed = mf_patch_seal();
	}
	mf_patch_begin();
	for (struct mf_trampoline *i = list; i; i = i->next) {
		int written = sealed ? sealed : mf_patch_jump(mf_trampoline_site(i), i);

		if (written) {
			error = written;
			failed++;
		}
	}
	mf_patch_end();
	if (failed)
		count_missed(failed, error);
	if (!origin || !list || sealed)
		return;
	n_origins += !origin->first;
	origin->first = list;
}

static bool is_code(const ElfW(Phdr) *header)
{
	return header->p_type == PT_LOAD && (header->p_flags & (PF_R | PF_X)) == (PF_R | PF_X);
}

/* How much code there is, and where some of it lies. */
static uint64_t code_bytes(const struct dl_phdr_info *info, uint64_t *address)
{
	uint64_t bytes = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (!is_code(header))
			continue;
		bytes += header->p_filesz;
		*address = info->dlpi_addr + header->p_vaddr;
	}
	return bytes;
}

void mf_requests_arrived(const struct dl_phdr_info *info)
{
	struct code code = { .object = info };
	uint64_t bytes, address = 0;

	if (!wanted)
		return;
	bytes = code_bytes(info, &address);
	if (mf_rowcache_has_no_request(address, bytes))
		return;
	code.table = find_table(info);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (!is_code(header))
			continue;
		code.at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
		code.end = code.at + header->p_filesz;
		code.mixed = !header->p_offset;
		redirect(&code);
	}
	if (!code.any && bytes >= NOTED_LEAST)
		mf_rowcache_note_searched(address);
}
