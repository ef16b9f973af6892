// SPDX-License-Identifier: GPL-2.0
// Takes over the allocation functions that the program itself defines.
//
// A definition in the executable takes precedence over the shim's, and a library's references may be bound to the
// library's own definitions. So each definition is found in its object's symbol tables, and its first instruction is
// redirected to a hook; this catches all callers. The hook calls the original function (code_detour.h) and counts its
// arguments and result. The program's memory stays with the program's allocator: blocks allocated earlier can be freed,
// and the allocator's own statistics remain correct.
//
// Allocation functions call each other; such inner calls are not counted (nesting.h).
//
// The functions that the shim exports take precedence over those of libraries, and behave like the C library's. If the
// program has other definitions, the first instruction of each of the shim's functions is replaced with a jump that
// leads to the next definition. So a library's operator new runs, and the C++ library's operator delete calls the
// program's functions. If the program defines only C++ operators, malloc() and the like are not redirected to the C
// library: the shim's functions call it anyway, and a hook, which has to save registers, would slow down every event.

#include "takeover.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pattern.h"
#include "deepbind.h"
#include "core/definitions.h"
#include "code_detour.h"
#include "core/gate.h"
#include "hook.h"
#include "instruction.h"
#include "patch.h"
#include "core/real.h"
#include "core/session.h"
#include "event/trace.h"

/*
 * Each macro describes an allocation function. The last string is a format for mf_trace_line(); the hook's kind
 * determines the arguments of the format.
 */
#define SIZE(symbol)	       { #symbol, MF_HOOK_SIZE, #symbol "(%u) = %p" }
#define SIZE_ALIGNMENT(symbol) { #symbol, MF_HOOK_SIZE_ALIGNMENT, #symbol "(size %u, al %u) = %p" }
#define ALIGNED(symbol, kind)  { #symbol, kind, "memalign(al %u, size %u) = %p" }
#define FREE(symbol)	       { #symbol, MF_HOOK_FREE, #symbol "(%p)" }
#define FREE_ANY(symbol)       { #symbol, MF_HOOK_FREE, #symbol "(%p)", true }

static const struct function {
	const char *name;
	enum mf_hook_kind kind;
	const char *trace;
	/*
	 * Does this function always call another allocation function? An object that defines only such functions
	 * provides them for systems that lack them. (For example, libbsd, which all X11 programs are linked with,
	 * defines reallocarray.)
	 */
	bool is_built_on_others;
} functions[] = {
	SIZE(malloc),
	{ "calloc", MF_HOOK_ELEMENTS, "calloc(%u,%u) = %p" },
	{ "realloc", MF_HOOK_RESIZE, NULL },
	{ "reallocarray", MF_HOOK_RESIZE_ELEMENTS, NULL, true },
	ALIGNED(memalign, MF_HOOK_ALIGNMENT_SIZE),
	ALIGNED(aligned_alloc, MF_HOOK_ALIGNMENT_SIZE),
	ALIGNED(posix_memalign, MF_HOOK_RESULT),
	ALIGNED(valloc, MF_HOOK_PAGES),
	SIZE(pvalloc),
	FREE(free),
	FREE_ANY(cfree),
	FREE_ANY(free_sized),
	FREE_ANY(free_aligned_sized),
	SIZE(_Znwm),
	SIZE(_Znam),
	SIZE(_ZnwmRKSt9nothrow_t),
	SIZE(_ZnamRKSt9nothrow_t),
	SIZE_ALIGNMENT(_ZnwmSt11align_val_t),
	SIZE_ALIGNMENT(_ZnamSt11align_val_t),
	SIZE_ALIGNMENT(_ZnwmSt11align_val_tRKSt9nothrow_t),
	SIZE_ALIGNMENT(_ZnamSt11align_val_tRKSt9nothrow_t),
	FREE(_ZdlPv),
	FREE(_ZdaPv),
	FREE(_ZdlPvm),
	FREE(_ZdaPvm),
	FREE(_ZdlPvRKSt9nothrow_t),
	FREE(_ZdaPvRKSt9nothrow_t),
	FREE(_ZdlPvSt11align_val_t),
	FREE(_ZdaPvSt11align_val_t),
	FREE(_ZdlPvmSt11align_val_t),
	FREE(_ZdaPvmSt11align_val_t),
	FREE(_ZdlPvSt11align_val_tRKSt9nothrow_t),
	FREE(_ZdaPvSt11align_val_tRKSt9nothrow_t),
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/*
 * Either a definition of an allocation function that the shim takes over, or one of the shim's own functions that is
 * redirected to the next definition.
 */
struct taken {
	struct mf_hook hook;
	const struct function *function;
	struct mf_code_detour detour;
	/* the jump that redirects this function (to its hook or to a replacement) has not been written yet */
	bool is_new;
	/*
	 * redirecting this function of the shim is optional: if the jump to the next definition cannot be written, the
	 * shim's function has the same effect as that definition
	 */
	bool is_dispensable;
};

#define TAKEN_MAX 1024u

static struct taken taken[TAKEN_MAX];
static uint32_t n_taken;
static bool is_any;
static bool is_any_of_c; /* at least one function that was taken over is not a C++ operator */

/* For each allocation function in @functions, its definitions that were loaded at startup. */
static struct {
	void *ours; /* the shim's definition of the function */
	/*
	 * The next definition of the function after the shim's, ignoring any definition in the executable. NULL if
	 * there is none.
	 */
	void *next;
	bool next_is_system;
	bool next_uncounted; /* @next is in an object that the user has excluded from counting */
	bool next_is_built;  /* @next only calls other allocation functions, and those calls are counted instead */
} known[FUNCTIONS];

/*
 * @only_owner identifies the last object found that defines allocation functions; 0 if none has been found yet.
 * @no_capacities: the capacities of blocks are unknown, because several objects define allocation functions, or because
 * the object has no malloc_usable_size().
 */
static uintptr_t only_owner;
static bool no_capacities;

static bool started; /* all objects that were loaded at startup have been handled */
static bool ours_came;

/* Classes of objects. The class decides how the shim treats the object's allocation functions. */
enum owner {
	OWNER_US,
	OWNER_SYSTEM,	 /* the C or C++ library: not redirected, since calls already reach it through the shim */
	OWNER_LINKER,	 /* the dynamic linker, which initially uses an allocator of its own */
	OWNER_PROGRAM,
	OWNER_UNCOUNTED, /* part of the program, but the user has excluded the object from counting */
	OWNER_OTHERS,	 /* an object whose allocation functions all merely call other allocation functions */
};

/* A loaded object whose allocation functions are being searched for and redirected. */
struct arrival {
	const struct mf_definitions *definitions;
	enum owner owner;
	bool is_executable;
	/*
	 * @defines: the object defines an allocation function. @allocates: the object defines an allocation function
	 * that does not merely call other allocation functions.
	 */
	bool defines, allocates;
};

static bool is_named(const char *soname, const char *pattern)
{
	return mf_pattern_matches(pattern, strlen(pattern), soname, strlen(soname));
}

/* The pattern NONE matches objects without a soname, as in Valgrind's option --soname-synonyms. */
static bool is_wanted(const char *soname)
{
	const struct mf_store_header *header = mf_session_store.header;

	return !header->has_somalloc || is_named(soname ? soname : "NONE", header->somalloc);
}

static enum owner owner_of(const struct mf_definitions *definitions)
{
	static const struct {
		const char *soname;
		enum owner owner;
	} names[] = {
		{ "libc.so*", OWNER_SYSTEM },	   { "libstdc++*", OWNER_SYSTEM },
		{ "libc++*", OWNER_SYSTEM },	   { "ld-linux*", OWNER_LINKER },
		{ "libmassif-preload.so", OWNER_US },
	};

	for (size_t i = 0; definitions->soname && i < sizeof(names) / sizeof(names[0]); i++)
		if (is_named(definitions->soname, names[i].soname))
			return names[i].owner;
	return is_wanted(definitions->soname) ? OWNER_PROGRAM : OWNER_UNCOUNTED;
}

static void miss(const struct mf_definition *definition, int code)
{
	struct mf_store_header *header = mf_session_store.header;

	mf_gate_thaw();
	/* The same function may be found twice, in another symbol table or under another name. Count it only once. */
	if (header->missed_address == (uintptr_t)definition->address || header->n_missed++)
		return;
	header->missed_error = code;
	header->missed_address = (uintptr_t)definition->address;
	strncpy(header->missed_name, functions[definition->name].name,
		sizeof(header->missed_name) - 1);
}

static struct taken *find_taken(const void *site)
{
	for (uint32_t i = 0; i < n_taken; i++)
		if (taken[i].detour.site == site)
			return &taken[i];
	return NULL;
}

/*
 * Maximum number of definitions that consist of only a jump. They are too short to be overwritten with a detour. For
 * example, linkers and compilers turn all of a library's delete operators but one into jumps to that one. Calls to such
 * a definition are counted at the jump's target, if the target is taken over.
 */
#define JUMPS_MAX 64u

static struct jump {
	struct mf_definition definition;
	const void *target;
} jumps[JUMPS_MAX];
static uint32_t n_jumps; /* number of jumps recorded in the array @jumps */

static const struct jump *find_jump(const void *site)
{
	for (uint32_t i = 0; i < n_jumps; i++)
		if (jumps[i].definition.address == site)
			return &jumps[i];
	return NULL;
}

/*
 * If the function consists of only a jump, adds the jump to the array @jumps and returns true. After all functions have
 * been found, miss_jumps() reports each function whose jump does not lead to a redirected function.
 */
static bool note_jump(const struct mf_definition *definition)
{
	const uint8_t *site = definition->address;
	struct mf_instruction in;

	if (find_jump(site))
		return true;
	if (n_jumps == JUMPS_MAX || !mf_instruction_read(site, definition->size, &in) ||
	    in.flow != MF_FLOW_JUMP)
		return false;
	jumps[n_jumps++] = (struct jump){ *definition, site + in.length + in.distance };
	return true;
}

/*
 * Reports each definition of an allocation function that consists of only a jump (see note_jump()), if the jump does
 * not lead to a function that has been taken over. Calls to such a definition are not counted. The number of hops is
 * limited, because jumps may form a cycle.
 */
static void miss_jumps(void)
{
	for (uint32_t i = 0; i < n_jumps; i++) {
		const struct jump *jump = &jumps[i], *next = jump;
		const struct taken *own;

		for (uint32_t hops = 0; hops < n_jumps && (next = find_jump(jump->target)); hops++)
			jump = next;
		own = find_taken(jump->target);
		if (!own || !mf_code_detour_is_placed(&own->detour))
			miss(&jumps[i].definition, -ENOEXEC);
	}
	n_jumps = 0;
}

static void take(const struct mf_definition *definition)
{
	const struct function *function = &functions[definition->name];
	struct taken *own = find_taken(definition->address);
	int code;

	if (own && (own->is_new || mf_code_detour_is_placed(&own->detour)))
		return; /* the same function has already been found in another symbol table or under another name */
	if (own && own->function->kind == function->kind &&
	    mf_code_detour_fits(&own->detour, definition->size)) {
		own->is_new = true;
		return;
	}
	/*
	 * The entry in @taken for this address belongs to a function of an object that was loaded here before and has
	 * been unloaded.
	 */
	if (own)
		own->detour.site = NULL;
	own = &taken[n_taken];
	if (definition->chosen_late || n_taken == TAKEN_MAX) {
		miss(definition, definition->chosen_late ? -EOPNOTSUPP : -ENOMEM);
		return;
	}
	code = mf_code_detour_prepare(&own->detour, definition->address, definition->size,
				 (const void *)mf_hook_entry, &own->hook);
	if (code == -ENOEXEC && note_jump(definition))
		return;
	if (code) {
		miss(definition, code);
		return;
	}
	own->function = function;
	mf_hook_init(&own->hook, function->kind, own->detour.original, function->trace);
	own->is_new = true;
	n_taken++;
}

static void found_usable_size(const struct mf_definition *definition, void *data)
{
	*(bool *)data = true;
}

static void note_owner(const struct mf_definitions *definitions)
{
	uintptr_t owner = (uintptr_t)definitions->object->dlpi_phdr;
	bool tells = false;

	is_any = true;
	if (only_owner == owner)
		return;
	mf_definitions_find(definitions, "malloc_usable_size", 0, found_usable_size, &tells);
	no_capacities |= only_owner || !tells;
	only_owner = owner;
}

static bool is_operator(uint32_t name)
{
	return is_named(functions[name].name, "_Z*");
}

/* Calls an IFUNC resolver. That is safe: the dynamic linker has already called it to relocate the object. */
static void *choose(void *resolver)
{
	return ((void *(*)(void))resolver)();
}

static void found(const struct mf_definition *definition, void *data)
{
	const struct arrival *arrival = data;

	if (arrival->owner == OWNER_US) {
		known[definition->name].ours = definition->address;
		return;
	}
	if (arrival->owner == OWNER_PROGRAM || arrival->owner == OWNER_UNCOUNTED) {
		note_owner(arrival->definitions);
		is_any_of_c |= !is_operator(definition->name);
	}
	if (arrival->owner == OWNER_PROGRAM)
		take(definition);
	if (ours_came && !started && !known[definition->name].next) {
		known[definition->name].next = definition->chosen_late ? choose(definition->address) :
									definition->address;
		known[definition->name].next_is_system = arrival->owner == OWNER_SYSTEM;
		known[definition->name].next_uncounted = arrival->owner == OWNER_UNCOUNTED;
		known[definition->name].next_is_built = arrival->owner == OWNER_OTHERS;
	}
}

static void note_kind(const struct mf_definition *definition, void *data)
{
	struct arrival *arrival = data;

	arrival->defines = true;
	arrival->allocates |= !functions[definition->name].is_built_on_others;
}

static void look_into_object(struct arrival *arrival, mf_definitions_found *tell)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		mf_definitions_find(arrival->definitions, functions[i].name, i, tell, arrival);
}

/*
 * Searches for functions that the object does not export. This reads all symbol names, so, like Massif, it searches
 * libraries only if the user has named one.
 */
static void look_into_file(struct arrival *arrival, mf_definitions_found *tell)
{
	const char *names[FUNCTIONS];

	if (arrival->owner != OWNER_PROGRAM ||
	    !(arrival->is_executable || mf_session_store.header->has_somalloc))
		return;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		names[i] = functions[i].name;
	mf_definitions_find_in_file(arrival->definitions, names, FUNCTIONS,
				    mf_session_store.header->has_somalloc, tell, arrival);
}

/*
 * Binds the references of an object that is loaded with RTLD_DEEPBIND to the shim's functions. Otherwise, the dynamic
 * linker would bind them to the C and C++ libraries.
 */
static void bind_deep(const struct mf_definitions *definitions)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		if (known[i].ours && known[i].next_is_system)
			mf_deepbind_bind(definitions, functions[i].name, known[i].ours);
}

void mf_takeover_arrived(const struct dl_phdr_info *object)
{
	struct mf_definitions definitions;
	struct arrival arrival = { .definitions = &definitions,
				   .is_executable = !ours_came && !object->dlpi_name[0] };

	if (!mf_definitions_open(&definitions, object))
		return;
	arrival.owner = owner_of(&definitions);
	if (arrival.owner == OWNER_LINKER)
		return;
	look_into_object(&arrival, note_kind);
	if (!arrival.allocates)
		look_into_file(&arrival, note_kind);
	if (arrival.defines && !arrival.allocates)
		arrival.owner = OWNER_OTHERS;
	if (arrival.defines) {
		look_into_object(&arrival, found);
		look_into_file(&arrival, found);
	}
	if (arrival.owner == OWNER_US)
		ours_came = true;
	else if (started && mf_deepbind_is_wanted())
		bind_deep(&definitions);
}

/*
 * Returns true if the shim's version of functions[i] need not be redirected because it merely calls the next
 * definition. If calls are reported (mf_session_traces), it must be redirected nevertheless: otherwise, when one of the
 * program's C++ operators calls the shim's function, the call would already have been reported by the time
 * mf_slowpath_alloc() detected that it is nested.
 */
static bool calls_next(uint32_t i)
{
	return known[i].next_is_system && !is_operator(i) && !is_any_of_c && !mf_session_traces;
}

/*
 * Redirects the shim's version of functions[i] to the next definition of this function. If that definition has been
 * hooked, redirects to the original behind the hook.
 */
static void lead_on(uint32_t i)
{
	const struct taken *next = find_taken(known[i].next);
	struct taken *own = &taken[n_taken];
	int code;

	if (!known[i].ours || !known[i].next || n_taken == TAKEN_MAX)
		return;
	if ((!is_any && !known[i].next_is_built) || calls_next(i))
		return;
	own->function = &functions[i];
	mf_hook_init(&own->hook, functions[i].kind, next ? next->hook.original : known[i].next,
		     functions[i].trace);
	if (known[i].next_uncounted || known[i].next_is_built)
		code = mf_code_detour_replace(&own->detour, known[i].ours, known[i].next, NULL);
	else
		code = mf_code_detour_replace(&own->detour, known[i].ours, (const void *)mf_hook_entry,
					 &own->hook);
	own->is_new = true;
	own->is_dispensable = known[i].next_is_built;
	if (!code)
		n_taken++;
}

static void place(void)
{
	int code = mf_patch_seal();

	mf_patch_begin();
	for (uint32_t i = 0; i < n_taken; i++) {
		struct taken *own = &taken[i];
		int failed = code;

		if (!own->is_new)
			continue;
		own->is_new = false;
		if (!failed)
			failed = mf_code_detour_place(&own->detour);
		/*
		 * The shim's own calls to the allocation function must not be counted, so make them call the original
		 * directly.
		 */
		if (!failed && !started && own->detour.original)
			mf_real_redirect(own->detour.site, own->detour.original);
		if (failed && !own->is_dispensable)
			miss(&(struct mf_definition){ .name = (uint32_t)(own->function - functions),
						      .address = own->detour.site },
			     failed);
	}
	miss_jumps();
	mf_patch_end();
}

void mf_takeover_done(void)
{
	for (uint32_t i = 0; i < FUNCTIONS && !started; i++)
		lead_on(i);
	place();
	mf_deepbind_done();
	started = true;
	if (no_capacities && mf_session_store.header->real_capacities) {
		mf_gate_thaw();
		mf_session_store.header->real_capacities = 0;
		mf_session_store.header->capacities_unknown = 1;
	}
}

bool mf_takeover_is_any(void)
{
	return is_any;
}
