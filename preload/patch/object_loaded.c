// SPDX-License-Identifier: GPL-2.0
// Handles newly loaded objects.
//
// The dynamic linker provides an empty function in which debuggers can set a breakpoint (r_brk of struct r_debug, see
// link.h). It is called just before and just after the list of objects changes. When it is called for new objects, they
// have been mapped but not yet relocated, and their constructors have not run. The shim overwrites the function's only
// instruction with a jump to its own function. A debugger can still set a breakpoint there later.

#include "object_loaded.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "core/cxx_library.h"
#include "core/libc.h"
#include "core/objects.h"
#include "core/own_memory.h"
#include "patch.h"
#include "requests.h"
#include "slots.h"
#include "stack/rule_cache.h"
#include "core/session.h"
#include "takeover.h"
#include "core/thread.h"

/* The instruction that a debugger writes at a breakpoint. */
#define BREAKPOINT 0xcc

/*
 * Callbacks of a part of the shim: @arrived is called for each new object, @done after the last of several new objects,
 * and @gone for each unloaded object.
 */
struct visitor {
	void (*arrived)(const struct dl_phdr_info *object);
	void (*done)(void);
	void (*gone)(uintptr_t bias);
};

static const struct visitor visitors[] = {
	{ mf_requests_arrived, NULL, NULL },
	{ mf_takeover_arrived, mf_takeover_done, NULL },
	{ mf_cxx_library_arrived, NULL, mf_cxx_library_gone },
};

/* The same for a shim that was loaded into a running process: it changes no code of the program. */
static const struct visitor late_visitors[] = {
	{ mf_slots_arrived, mf_slots_done, NULL },
	{ mf_cxx_library_arrived, NULL, mf_cxx_library_gone },
};

#define VISITORS      (sizeof(visitors) / sizeof(visitors[0]))
#define LATE_VISITORS (sizeof(late_visitors) / sizeof(late_visitors[0]))

static const struct visitor *active_visitors = visitors;
static size_t n_visitors = VISITORS;

/* Objects that have been handled. An object is identified by its load bias and the address of its headers. */
struct known {
	uintptr_t bias, headers;
	/* serial number of the last search of the dynamic linker's list (see look()) that found the object */
	uint32_t round;
};

/* Number of objects in the static array. If there are more objects, a larger array is mapped. */
#define KNOWN_FIRST 256u

static struct known first_known[KNOWN_FIRST];
static struct known *known = first_known;
static uint32_t n_known, room = KNOWN_FIRST, this_round;

struct round {
	/*
	 * index in @known at which the next object is expected; usually right, because the order of the dynamic
	 * linker's list rarely changes
	 */
	uint32_t at;
	bool any;
	bool no_room; /* true if there was not enough memory to record all objects */
};

/* Doubles the capacity of the array of known objects. Returns false if out of memory. */
static bool grow(void)
{
	struct known *larger = mmap(NULL, 2 * room * sizeof(*known), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (larger == MAP_FAILED)
		return false;
	memcpy(larger, known, n_known * sizeof(*known));
	mf_own_memory_note(larger, 2 * room * sizeof(*known));
	if (known != first_known) {
		mf_own_memory_forget(known);
		munmap(known, room * sizeof(*known));
	}
	known = larger;
	room *= 2;
	return true;
}

/* Returns whether the object is new. If so, also records it as handled. */
static bool is_new(const struct dl_phdr_info *object, struct round *round)
{
	const struct known fresh = {
		.bias = object->dlpi_addr, .headers = (uintptr_t)object->dlpi_phdr, .round = this_round,
	};

	for (uint32_t i = 0; i < n_known; i++) {
		struct known *one = &known[(round->at + i) % n_known];

		if (one->bias != fresh.bias || one->headers != fresh.headers)
			continue;
		one->round = this_round;
		round->at = (uint32_t)(one - known) + 1;
		return false;
	}
	if (n_known == room && !grow()) {
		round->no_room = true;
		return false;
	}
	known[n_known++] = fresh;
	return true;
}

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct round *round = data;

	if (!is_new(object, round))
		return 0;
	round->any = true;
	for (size_t i = 0; i < n_visitors; i++)
		if (active_visitors[i].arrived)
			active_visitors[i].arrived(object);
	return 0;
}

/* Drops unloaded objects from @known: other objects may be loaded at their addresses. */
static void forget_the_gone(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_known; i++) {
		if (known[i].round == this_round) {
			known[n++] = known[i];
			continue;
		}
		for (size_t j = 0; j < n_visitors; j++)
			if (active_visitors[j].gone)
				active_visitors[j].gone(known[i].bias);
	}
	n_known = n;
}

/*
 * Tells @visitors, the callbacks of other parts of the shim, which objects have been loaded or unloaded since the last
 * call. Returns false if there was not enough memory to record all new objects.
 * Context: the caller holds the dynamic linker's lock, or the process has only one thread.
 */
static bool look(void)
{
	struct round round = { 0 };

	this_round++;
	dl_iterate_phdr(visit, &round);
	forget_the_gone();
	for (size_t i = 0; round.any && i < n_visitors; i++)
		if (active_visitors[i].done)
			active_visitors[i].done();
	return !round.no_room;
}

/*
 * Returns whether the program has loaded objects into a separate namespace with dlmopen(). Such objects have their own
 * C library, so their allocations are not counted. struct r_debug has had a list of namespaces since version 2.
 */
static bool is_elsewhere(void)
{
	struct lists {
		struct r_debug own;
		const void *next;
	};
	/* Hide the variable's type from the compiler: _r_debug is larger than a struct r_debug. */
	const void *volatile at = &_r_debug;
	const struct lists *lists = at;

	return lists->own.r_version >= 2 && lists->next;
}

/* Replaces the dynamic linker's function that is called whenever the list of objects changes. */
static void list_changes(void)
{
	int saved = errno;
	uint8_t inside = mf_thread_local.inside;

	if (_r_debug.r_state == RT_CONSISTENT) {
		mf_objects_change();
		mf_cxx_library_know(false);
		mf_libc_bind_later();
	}
	if (mf_session_is_active() && _r_debug.r_state == RT_CONSISTENT) {
		mf_thread_local.inside = true;
		/*
		 * In a forked child that has had no event yet, mf_thread_get() first gets a session for the child from
		 * massif-ctl.
		 */
		if (mf_thread_get() && mf_session_is_active()) {
			if (is_elsewhere())
				mf_session_store.header->is_elsewhere = 1;
			mf_objects_come();
			mf_objects_scan();
			mf_cxx_library_know(look());
		}
		mf_thread_local.inside = inside;
	}
	errno = saved;
}

/*
 * Returns whether the function at @code does nothing but return and can be overwritten with a jump without touching the
 * next function.
 */
static bool is_empty(const uint8_t *code)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *at = code, *end = code + MF_PATCH_BYTES;

	if (!memcmp(at, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (*at++ != 0xc3)
		return false;
	/* The function is padded to 16 bytes with no-ops or bytes that are not instructions. */
	return at >= end ||
	       ((uintptr_t)code % 16 + MF_PATCH_BYTES <= 16 && memchr("\xcc\x90\x66\x0f\x2e", *at, 5));
}

/*
 * Finds what is to be overwritten with a jump to list_changes(). Returns 0, and sets *@site and *@via as for
 * mf_patch_jump(); or -errno.
 */
static int prepare_jump(uint8_t **site, const void **via)
{
	uint8_t *at = (uint8_t *)(uintptr_t)_r_debug.r_brk;
	int code;

	if (MF_PATCH_BYTES && at && *at == BREAKPOINT)
		/*
		 * a debugger has a breakpoint here, and would later overwrite the first byte of the jump with the byte
		 * that it saved
		 */
		return -EBUSY;
	if (!MF_PATCH_BYTES || !at || !is_empty(at))
		return -ENOTSUP;
	*site = at;
	code = mf_patch_prepare(at, (const void *)list_changes, via);
	return code ? code : mf_patch_seal();
}

/* Called when the jump has been written, or will be before the next object is loaded. @all: all objects are known. */
static void begin(bool all)
{
	mf_rule_cache_keep_guesses = true;
	mf_objects_are_announced();
	mf_cxx_library_know(all);
}

int mf_object_loaded_start(void)
{
	bool all = look();
	const void *via;
	uint8_t *site;
	int code = prepare_jump(&site, &via);

	if (!code)
		code = mf_patch_jump(site, via);
	if (!code)
		begin(all);
	return code;
}

int mf_object_loaded_prepare(void (*write)(uint64_t address, uint64_t fresh))
{
	const void *via;
	uint8_t *site, bytes[sizeof(uint64_t)];
	uint64_t word;
	bool all;
	int code;

	active_visitors = late_visitors;
	n_visitors = LATE_VISITORS;
	all = look();
	code = prepare_jump(&site, &via);
	if (code)
		return code;
	memcpy(bytes, site, sizeof(bytes));
	mf_jump_encode(bytes, (uintptr_t)site, (uintptr_t)via);
	memcpy(&word, bytes, sizeof(word));
	write((uintptr_t)site, word);
	begin(all);
	return 0;
}
