// SPDX-License-Identifier: GPL-2.0
// Takes over the allocation functions that the program defines itself.
//
// A definition in the executable stands before ours, and a library can be bound to its own: so each is
// found in its object's symbol tables and led to us at its first instruction, whoever calls it and
// however. It then does what it always does (detour.h), and only what went in and came out is counted.
// The program's memory stays with the program's allocator: what was allocated before we came can be
// freed, and what it tells of itself remains true.
//
// Allocation functions call each other, and what they call is not counted: a thread that is inside of
// one is known by the place on its stack where it went in, and its other events are not taken in.
//
// Our own exported functions stand before those of libraries, and do what the C library's would do. In
// a program that has others they are led on to the next definition at their first instruction: so a
// library's operator new runs, and the C++ library's operator delete calls that of the program.

#include "takeover.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "base/pattern.h"
#include "allocator.h"
#include "deepbind.h"
#include "definitions.h"
#include "detour.h"
#include "gate.h"
#include "patch.h"
#include "real.h"
#include "session.h"
#include "thread.h"
#include "trace.h"
#include "track.h"

/* What a function's arguments and result are. */
enum kind {
	KIND_SIZE,	     /* (size, ...) */
	KIND_SIZE_ALIGNMENT, /* (size, alignment, ...) */
	KIND_ALIGNMENT_SIZE, /* (alignment, size) */
	KIND_PAGES,	     /* (size), aligned to pages */
	KIND_ELEMENTS,	     /* (n, size) */
	KIND_RESIZE,	     /* (block, size) */
	KIND_RESIZE_ELEMENTS, /* (block, n, size) */
	KIND_RESULT,	     /* (&result, alignment, size) */
	KIND_FREE,	     /* (block, ...) */
	KINDS,
};

/* @trace is for mf_trace_line(); its arguments are the kind's. */
#define SIZE(symbol)	       { #symbol, KIND_SIZE, #symbol "(%u) = %p" }
#define SIZE_ALIGNMENT(symbol) { #symbol, KIND_SIZE_ALIGNMENT, #symbol "(size %u, al %u) = %p" }
#define ALIGNED(symbol, kind)  { #symbol, kind, "memalign(al %u, size %u) = %p" }
#define FREE(symbol)	       { #symbol, KIND_FREE, #symbol "(%p)" }
#define FREE_ANY(symbol)       { #symbol, KIND_FREE, #symbol "(%p)", true }

static const struct function {
	const char *name;
	enum kind kind;
	const char *trace;
	/*
	 * It can only be a call of another one, whoever's that is: what an object that has no others gives
	 * to systems without it (libbsd, with which all of X11's programs are linked, has reallocarray).
	 */
	bool is_built_on_others;
} functions[] = {
	SIZE(malloc),
	{ "calloc", KIND_ELEMENTS, "calloc(%u,%u) = %p" },
	{ "realloc", KIND_RESIZE, NULL },
	{ "reallocarray", KIND_RESIZE_ELEMENTS, NULL, true },
	ALIGNED(memalign, KIND_ALIGNMENT_SIZE),
	ALIGNED(aligned_alloc, KIND_ALIGNMENT_SIZE),
	ALIGNED(posix_memalign, KIND_RESULT),
	ALIGNED(valloc, KIND_PAGES),
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

/* All have three arguments at most; the fourth register has ours. */
typedef uintptr_t original(uintptr_t a, uintptr_t b, uintptr_t c);

/* A definition that is taken over, or one of our own functions that leads on to one. */
struct taken {
	const struct function *function;
	original *original;
	struct mf_detour detour;
	bool is_new; /* its jump is not there yet */
	bool is_dispensable; /* without the jump ours does the same */
};

#define TAKEN_MAX 1024u

static struct taken taken[TAKEN_MAX];
static uint32_t n_taken;
static bool is_any;

/* Inside of an allocation function: the place on the stack, in units of 16 bytes. */
static inline uint32_t place_here(void)
{
	return (uint32_t)((uintptr_t)__builtin_frame_address(0) >> 4);
}

/* Nothing of an allocation function is on the stack any more: this thread's events are its own again. */
static void leave(void)
{
	struct mf_thread *thread = mf_thread_local.thread;

	mf_thread_local.inside = false;
	mf_thread_local.allocator = 0;
	if (!thread || thread->private->resizing.context == MF_CONTEXT_NONE)
		return;
	/* Its block will not come back. */
	mf_gate_close();
	thread->private->resizing.context = MF_CONTEXT_NONE;
	mf_gate_open();
}

/*
 * Whether a function that is entered @here is a part of the call at @place. One that was left without a
 * word, by longjmp, lies beyond the present end of the stack. A signal handler's own stack can be
 * anywhere.
 */
static __attribute__((noinline)) bool is_within(uint32_t place, uint32_t here)
{
	stack_t stack;

	if ((int32_t)(place - here) > 0 ||
	    (!syscall(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK))
		return true;
	leave();
	return false;
}

static inline bool is_nested(void)
{
	uint32_t place = mf_thread_local.allocator;

	return __builtin_expect(place, 0) && is_within(place, place_here());
}

/*
 * In the place of a personality: an exception leaves the function that calls the original, and with it
 * the allocation. It asks nothing of the unwinder, whoever's that may be.
 */
_Unwind_Reason_Code mf_takeover_unwound(int version, _Unwind_Action actions,
					_Unwind_Exception_Class class,
					struct _Unwind_Exception *exception,
					struct _Unwind_Context *context);

_Unwind_Reason_Code mf_takeover_unwound(int version, _Unwind_Action actions,
					_Unwind_Exception_Class class,
					struct _Unwind_Exception *exception,
					struct _Unwind_Context *context)
{
	if (actions & _UA_CLEANUP_PHASE)
		leave();
	return _URC_CONTINUE_UNWIND;
}

/* The outermost call: what the function calls is a part of it. */
static __attribute__((noinline)) uintptr_t call(const struct taken *own, uintptr_t a, uintptr_t b,
						uintptr_t c)
{
	uint8_t inside = mf_thread_local.inside;
	uintptr_t result;

#ifdef __x86_64__
	/* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
	__asm__ volatile(".cfi_personality 0x1b, mf_takeover_unwound");
#endif
	mf_thread_local.allocator = place_here();
	mf_thread_local.inside = true;
	result = own->original(a, b, c);
	mf_thread_local.inside = inside;
	mf_thread_local.allocator = 0;
	return result;
}

#define HOOK static __attribute__((noinline)) uintptr_t

/* One that returns a block, of @size bytes. What it was called with is traced as the rest says. */
#define TAKE(hook, size, ...)                                                             \
	HOOK hook(uintptr_t a, uintptr_t b, uintptr_t c, const struct taken *own)         \
	{                                                                                 \
		uintptr_t block;                                                          \
                                                                                          \
		if (is_nested())                                                          \
			return own->original(a, b, c);                                    \
		block = call(own, a, b, c);                                               \
		MF_TRACE(own->function->trace, __VA_ARGS__, (void *)block);               \
		mf_allocator_made((void *)block, size, MF_FRAME);                         \
		return block;                                                             \
	}

TAKE(take_size, a, (size_t)a)
TAKE(take_size_alignment, a, (size_t)a, (size_t)b)
TAKE(take_alignment_size, b, (size_t)a, (size_t)b)
TAKE(take_pages, a, (size_t)getpagesize(), (size_t)a)
/* The product did not overflow, or it is theirs to tell what there is. */
TAKE(take_elements, a * b, (size_t)a, (size_t)b)

HOOK take_result(uintptr_t result, uintptr_t alignment, uintptr_t size, const struct taken *own)
{
	uintptr_t code;

	if (is_nested())
		return own->original(result, alignment, size);
	code = call(own, result, alignment, size);
	if (!(int)code) {
		void *block = *(void **)result;

		MF_TRACE(own->function->trace, (size_t)alignment, (size_t)size, block);
		mf_allocator_made(block, size, MF_FRAME);
	}
	return code;
}

static void *resize(void *block, size_t size, const void *own)
{
	return (void *)call(own, (uintptr_t)block, size, 0);
}

HOOK take_resize(uintptr_t block, uintptr_t size, uintptr_t c, const struct taken *own)
{
	if (is_nested())
		return own->original(block, size, c);
	return (uintptr_t)mf_allocator_resize((void *)block, size, resize, own, &MF_CALLER);
}

struct elements {
	const struct taken *own;
	size_t n, size;
};

static void *resize_elements(void *block, size_t size, const void *data)
{
	const struct elements *elements = data;

	return (void *)call(elements->own, (uintptr_t)block, elements->n, elements->size);
}

HOOK take_resize_elements(uintptr_t block, uintptr_t n, uintptr_t size, const struct taken *own)
{
	const struct elements elements = { .own = own, .n = n, .size = size };
	size_t product;

	/* One that is too large is refused by whoever is asked. */
	if (is_nested() || __builtin_mul_overflow(n, size, &product))
		return own->original(block, n, size);
	return (uintptr_t)mf_allocator_resize((void *)block, product, resize_elements, &elements, &MF_CALLER);
}

HOOK take_free(uintptr_t block, uintptr_t b, uintptr_t c, const struct taken *own)
{
	if (mf_real_is_early((void *)block))
		return 0;
	if (is_nested())
		return own->original(block, b, c);
	MF_TRACE(own->function->trace, (void *)block);
	if (!mf_allocator_begin_free((void *)block).done)
		mf_track_free((void *)block, MF_FRAME);
	return call(own, block, b, c);
}

typedef uintptr_t hook(uintptr_t a, uintptr_t b, uintptr_t c, const struct taken *own);

static hook *const hooks[KINDS] = {
	[KIND_SIZE] = take_size,
	[KIND_SIZE_ALIGNMENT] = take_size_alignment,
	[KIND_ALIGNMENT_SIZE] = take_alignment_size,
	[KIND_PAGES] = take_pages,
	[KIND_ELEMENTS] = take_elements,
	[KIND_RESIZE] = take_resize,
	[KIND_RESIZE_ELEMENTS] = take_resize_elements,
	[KIND_RESULT] = take_result,
	[KIND_FREE] = take_free,
};

/* What is known of each function at the start. */
static struct {
	void *ours; /* the one that we export */
	void *next; /* the one that would be called without us, beside the executable's; NULL: none */
	bool next_is_system;
	bool next_uncounted; /* which the user wants to be left alone */
	bool next_is_built;  /* on others', whose calls count */
} known[FUNCTIONS];

/* The object that defines what there is; more than one, or one that cannot tell: no capacities. */
static uintptr_t only_owner;
static bool no_capacities;

static bool started; /* that is over */
static bool ours_came;

/* Whose an object is. */
enum owner {
	OWNER_US,
	OWNER_SYSTEM,	 /* the C and C++ libraries: called through us */
	OWNER_LINKER,	 /* which has an allocator for itself, before there is another */
	OWNER_PROGRAM,
	OWNER_UNCOUNTED, /* the program, too; left alone */
	OWNER_OTHERS,	 /* what it defines is built on others' */
};

/* An object that is being looked at. */
struct arrival {
	const struct mf_definitions *definitions;
	enum owner owner;
	bool is_executable;
	bool defines, allocates; /* any function, and one that is not built on others */
};

static bool is_named(const char *soname, const char *pattern)
{
	return mf_pattern_matches(pattern, strlen(pattern), soname, strlen(soname));
}

/* Objects without a name of their own can be meant, too. */
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
	if (header->n_missed++)
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

static void take(const struct mf_definition *definition)
{
	const struct function *function = &functions[definition->name];
	struct taken *own = find_taken(definition->address);
	int code;

	if (own && (own->is_new || mf_detour_is_placed(&own->detour)))
		return; /* found a second time, by another table or another name */
	if (own && own->function->kind == function->kind &&
	    mf_detour_fits(&own->detour, definition->size)) {
		own->is_new = true;
		return;
	}
	/* Another object was there. */
	if (own)
		own->detour.site = NULL;
	own = &taken[n_taken];
	if (definition->chosen_late || n_taken == TAKEN_MAX) {
		miss(definition, definition->chosen_late ? -EOPNOTSUPP : -ENOMEM);
		return;
	}
	code = mf_detour_prepare(&own->detour, definition->address, definition->size,
				 (const void *)hooks[function->kind], own);
	if (code) {
		miss(definition, code);
		return;
	}
	own->function = function;
	own->original = (original *)own->detour.original;
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

/* As the dynamic linker did when it relocated the object. */
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
	if (arrival->owner == OWNER_PROGRAM || arrival->owner == OWNER_UNCOUNTED)
		note_owner(arrival->definitions);
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

/* What it keeps for itself: as Massif, of libraries only where one is named. All its names have to be read. */
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

/* What it would find is the system's, to which ours lead. */
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

/* What one of our functions leads to from now on: the next definition, or what that does. */
static void lead_on(uint32_t i)
{
	const struct taken *next = find_taken(known[i].next);
	struct taken *own = &taken[n_taken];
	int code;

	if (!known[i].ours || !known[i].next || n_taken == TAKEN_MAX)
		return;
	if (!is_any && !known[i].next_is_built)
		return;
	own->function = &functions[i];
	own->original = next ? next->original : (original *)known[i].next;
	if (known[i].next_uncounted || known[i].next_is_built)
		code = mf_detour_replace(&own->detour, known[i].ours, known[i].next, NULL);
	else
		code = mf_detour_replace(&own->detour, known[i].ours,
					 (const void *)hooks[own->function->kind], own);
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
			failed = mf_detour_place(&own->detour);
		/* We are not to count what we call. */
		if (!failed && !started && own->detour.original)
			mf_real_redirect(own->detour.site, own->detour.original);
		if (failed && !own->is_dispensable)
			miss(&(struct mf_definition){ .name = (uint32_t)(own->function - functions),
						      .address = own->detour.site },
			     failed);
	}
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
