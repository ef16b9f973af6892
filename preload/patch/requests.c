// SPDX-License-Identifier: GPL-2.0
// Client requests: finds them in the program's code, redirects them, and handles them.
//
// The instruction sequence of a request is too long to occur by chance, but it may occur as data in a segment that
// contains both code and constants. If a segment may contain constants, only ranges covered by the unwind table are
// treated as code.
//
// In a large program, this search is the longest part of startup, because it reads every page of code. So objects
// without requests are recorded in a file for later runs (rowcache.h).
//
// An object that is loaded again is often mapped at its old address. The requests in it are then at the same addresses,
// and their trampolines are reused.

#include "requests.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "monitor_command.h"
#include "patch.h"
#include "stack/rowcache.h"
#include "core/definitions.h"
#include "core/session.h"
#include "core/thread.h"
#include "event/slowpath.h"
#include "trampoline.h"
#include "stack/unwind.h"

#define ORIGINS_MAX 512u

/*
 * If an object's code is at least this many bytes long and contains no requests, that fact is recorded in a file.
 * Searching less code than this again is faster than writing the file.
 */
#define NOTED_LEAST (256u << 10)

/*
 * A range of code in which client requests were found, and the list of their trampolines, in the order of the requests'
 * addresses.
 */
struct origin {
	uint64_t start, end;
	struct mf_trampoline *first;
};

static struct origin origins[ORIGINS_MAX];
static uint32_t n_origins;
/* whether requests are handled; copied from the session, because a forked child may not have one yet */
static bool wanted;

/*
 * Handles a client request and returns its result. If the request is meant for another Valgrind tool, or if the process
 * is not being profiled, returns @unheard, the request's default result, that is, what it returns when the program is
 * not running under Valgrind.
 */
static uint64_t answer(const struct mf_trampoline_frame *frame, uint64_t unheard)
{
	const struct mf_registers caller = {
		.pc = frame->pc, .sp = frame->sp, .fp = frame->fp, .exact = true,
		.function = MF_FUNCTION_REQUEST,
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
	wanted = mf_session_store.header->takes_requests;
	mf_trampoline_start(answer);
}

/*
 * The sorted table in the object's .eh_frame_hdr. It is read here because _dl_find_object() does not find an object
 * that has just been mapped.
 */
struct table {
	uint8_t version, frame_encoding, count_encoding, entry_encoding;
	int32_t frame;
	uint32_t count;
	struct {
		/* addresses of a piece of code and of the FDE that describes it, relative to the table's address */
		int32_t start, description;
	} entries[];
};

static const struct table *find_table(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const struct table *table = (const void *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type != PT_GNU_EH_FRAME || header->p_memsz < sizeof(*table) ||
		    !mf_definitions_is_mapped(info, PF_R, (uintptr_t)table, header->p_memsz))
			continue;
		if (table->version == 1 && table->frame_encoding == 0x1b &&
		    table->count_encoding == 0x03 && table->entry_encoding == 0x3b &&
		    table->count <= (header->p_memsz - sizeof(*table)) / sizeof(table->entries[0]))
			return table;
	}
	return NULL;
}

/* Returns whether the unwind information of the object describes code at @address. */
static bool is_described(const struct dl_phdr_info *info, const struct table *table, uint64_t address)
{
	uint32_t low = 0, high = table ? table->count : 0;
	/* Start of an FDE: its length, the offset of its CIE, the distance to its code, and the code's size. */
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
	if (!mf_definitions_is_mapped(info, PF_R, at, sizeof(description)))
		return false;
	memcpy(description, (const void *)(uintptr_t)at, sizeof(description));
	/*
	 * Compare the start address in the FDE with the one in the table. They differ if the FDE uses a pointer
	 * encoding other than the one assumed here.
	 */
	return at + 8 + (uint64_t)(int64_t)description[2] == start &&
	       address - start < (uint32_t)description[3];
}

/* A range of code that is searched for Valgrind client requests. */
struct code {
	const struct dl_phdr_info *object;
	const uint8_t *at, *end;
	bool mixed; /* the segment may contain constants besides code, because it contains the ELF header */
	/* The object's unwind table. If @mixed is set, only ranges that it describes count as code. */
	const struct table *table;
	bool any; /* an instruction sequence that looks like a Valgrind client request was found */
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

/* Returns the first client request at or after @at, or NULL. */
static const uint8_t *find_request(struct code *code, const uint8_t *at)
{
	while ((at = mf_request_site_find(at, (size_t)(code->end - at)))) {
		code->any = true;
		if (!code->mixed || is_described(code->object, code->table, (uintptr_t)at))
			return at;
		at += MF_REQUEST_SITE_BYTES;
	}
	return NULL;
}

/* Returns whether @list has a trampoline for each client request in @code and no other trampolines. */
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

/*
 * Makes trampolines for all requests in @code. Adds the number of failures to *@failed and stores the last error in
 * *@error.
 */
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

	/*
	 * In this process's session memory, count the @n client requests that could not be redirected. Objects that
	 * were loaded at startup are searched before the session becomes active, but its memory is already mapped by
	 * then. If a forked child loads an object later, mf_thread_get() first gets the child a session of its own; if
	 * it returns NULL, there is none in which to count.
	 */
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

/* Returns the total size of the object's code in bytes. Sets *@address to an address in that code. */
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
