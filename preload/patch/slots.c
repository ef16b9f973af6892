// SPDX-License-Identifier: GPL-2.0
// Collects the words through which the objects of a running process call the allocation functions.

#include "slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pattern.h"
#include "protocol/late.h"
#include "core/definitions.h"
#include "core/libc.h"
#include "core/own_memory.h"
#include "core/real.h"
#include "core/scope.h"
#include "core/session.h"
#include "deepbind.h"

#ifdef __x86_64__

enum kind {
	KIND_C,	       /* a function of C that allocates or frees */
	KIND_BUILT,    /* a function of C that calls others; objects define it for systems that lack it */
	KIND_OPERATOR, /* operator new or delete */
	KIND_OTHER,    /* changes what the shim may do, but does not allocate */
};

static struct function {
	const char *name;
	enum kind kind;
	const void *ours, *theirs; /* the shim's definition, and the one that the program calls; NULL: none */
	/*
	 * The address that dlsym(RTLD_DEFAULT) returns, usually @theirs.
	 * A program that is linked at a fixed address and takes the
	 * function's address has a stub of its own for it, which calls @theirs; dlsym() then returns the stub.
	 */
	const void *first;
} functions[] = {
	{ "malloc", KIND_C },
	{ "free", KIND_C },
	{ "calloc", KIND_C },
	{ "realloc", KIND_C },
	{ "memalign", KIND_C },
	{ "aligned_alloc", KIND_C },
	{ "posix_memalign", KIND_C },
	{ "valloc", KIND_C },
	{ "pvalloc", KIND_C },
	{ "reallocarray", KIND_BUILT },
	{ "free_sized", KIND_BUILT },
	{ "free_aligned_sized", KIND_BUILT },
	{ "prctl", KIND_OTHER },
	{ "syscall", KIND_OTHER },
	{ "mlockall", KIND_OTHER },
	{ "_Znwm", KIND_OPERATOR },
	{ "_Znam", KIND_OPERATOR },
	{ "_ZnwmRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZnamRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZnwmSt11align_val_t", KIND_OPERATOR },
	{ "_ZnamSt11align_val_t", KIND_OPERATOR },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZdlPv", KIND_OPERATOR },
	{ "_ZdaPv", KIND_OPERATOR },
	{ "_ZdlPvm", KIND_OPERATOR },
	{ "_ZdaPvm", KIND_OPERATOR },
	{ "_ZdlPvRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZdaPvRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZdlPvSt11align_val_t", KIND_OPERATOR },
	{ "_ZdaPvSt11align_val_t", KIND_OPERATOR },
	{ "_ZdlPvmSt11align_val_t", KIND_OPERATOR },
	{ "_ZdaPvmSt11align_val_t", KIND_OPERATOR },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", KIND_OPERATOR },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", KIND_OPERATOR },
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static struct mf_late_word *words; /* room for MF_LATE_WORDS_MAX, mapped */
static uint32_t n_words;
static const char *refusal; /* why the process cannot be profiled, or NULL */
static int refusal_code;
static bool collected; /* mf_slots_end() has been called */
static bool has_allocator; /* an object other than the C library defines malloc(), in a way that is known */
/*
 * An object that was loaded after the attach defines allocation functions of its own: from then on, new objects are left
 * as they are.
 */
static bool lets_new_be;

/* All objects have been looked at since the first of several new ones arrived. */
static bool has_looked;

/*
 * Other copies of the shim, from earlier attaches. Objects that were loaded during those are bound to them. More copies
 * than these do not get variables in the static TLS block.
 */
#define COPIES_MAX 64u

static struct dl_phdr_info copies[COPIES_MAX];
static uint32_t n_copies;

static void refuse(int code, const char *reason)
{
	if (!refusal) {
		refusal = reason;
		refusal_code = code;
	}
}

static bool is_named(const char *soname, const char *pattern)
{
	return soname && mf_pattern_matches(pattern, strlen(pattern), soname, strlen(soname));
}

static bool is_any_of(const char *soname, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_named(soname, patterns[i]))
			return true;
	return false;
}

static bool is_system(const char *soname)
{
	static const char *const patterns[] = { "libc.so*", "libstdc++*", "libc++*", "libmassif-preload.so" };

	return is_any_of(soname, patterns, sizeof(patterns) / sizeof(patterns[0]));
}

/* Allocators whose operators new and delete may be mixed with their malloc() and free(). */
static bool is_known_allocator(const char *soname)
{
	static const char *const patterns[] = { "libjemalloc*", "libtcmalloc*", "libmimalloc*" };

	return is_any_of(soname, patterns, sizeof(patterns) / sizeof(patterns[0]));
}

static void found(const struct mf_definition *definition, void *data)
{
	*(bool *)data = true;
}

static bool defines(const struct mf_definitions *object, enum kind kind)
{
	bool any = false;

	for (size_t i = 0; i < FUNCTIONS && !any; i++)
		if (functions[i].kind == kind)
			mf_definitions_find(object, functions[i].name, (uint32_t)i, found, &any);
	return any;
}

/* Returns why blocks of @object could get to an allocator that they did not come from; NULL if they cannot. */
static const char *trouble_with(const struct mf_definitions *object)
{
	bool allocates = defines(object, KIND_C);

	if (is_system(object->soname) || (!allocates && !defines(object, KIND_OPERATOR)))
		return NULL;
	if (!object->soname)
		return "it has allocation functions of its own; start it with massif-ctl";
	if (!is_known_allocator(object->soname))
		return "one of its libraries has allocation functions of its own; start it with massif-ctl";
	has_allocator |= allocates;
	return NULL;
}

static struct function *find_function(const char *name)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

/* @bound: the value that the dynamic linker may set at any moment; 0: it sets none. */
static void add(uint64_t address, uint64_t bound, uint64_t value)
{
	struct mf_late_word *word = &words[n_words];

	if (n_words == MF_LATE_WORDS_MAX) {
		refuse(-E2BIG, "it calls the allocation functions through too many words");
		return;
	}
	word->address = address;
	memcpy(&word->old, (const void *)(uintptr_t)address, sizeof(word->old));
	word->bound = bound ? bound : word->old;
	word->fresh = value;
	n_words++;
}

void mf_slots_add(uint64_t address, uint64_t value)
{
	add(address, 0, value);
}

static bool is_in_copy(uint64_t value)
{
	for (uint32_t i = 0; i < n_copies; i++)
		if (mf_definitions_is_mapped(&copies[i], PF_R | PF_X, value, 1))
			return true;
	return false;
}

struct value {
	uint64_t value;
	bool is_defined;
};

static void compare(const struct mf_definition *definition, void *data)
{
	struct value *value = data;

	value->is_defined |= (uintptr_t)definition->address == value->value;
}

/*
 * Has the entry with this @value not been used yet? Then it leads back into the object, to the code that makes the dynamic
 * linker set it.
 */
static bool is_unbound(const struct mf_definitions *object, const struct function *function, uint64_t value)
{
	struct value own = { value, false };

	if (!mf_definitions_is_mapped(object->object, PF_R | PF_X, value, 1))
		return false;
	mf_definitions_find(object, function->name, 0, compare, &own);
	return !own.is_defined;
}

/*
 * Will the dynamic linker set an entry of @object that has not been used yet to the function that the shim calls? Only an
 * object that was loaded with RTLD_DEEPBIND may have another one: that of an allocator that the object itself is linked
 * with.
 */
static bool binds_to_theirs(const struct mf_definitions *object, const struct function *function)
{
	const void *found;

	if (!has_allocator)
		return true;
	found = mf_scope_look_up(object->object, RTLD_DEFAULT, function->name);
	return found == function->theirs || (found && found == function->first);
}

/* Adds the word of @entry if it leads to a function that is to be seen. */
static void look_at(const struct mf_definitions *object, const ElfW(Rela) *entry)
{
	uint64_t type = ELF64_R_TYPE(entry->r_info), symbol = ELF64_R_SYM(entry->r_info), value;
	uint64_t at = object->object->dlpi_addr + entry->r_offset;
	const struct function *function;

	if (!symbol || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
			!(type == R_X86_64_64 && !entry->r_addend)))
		return;
	function = find_function(object->names + object->symbols[symbol].st_name);
	if (!function || !function->ours || !function->theirs ||
	    !mf_definitions_is_mapped(object->object, PF_R | PF_W, at, 1))
		return;
	memcpy(&value, (const void *)(uintptr_t)at, sizeof(value));
	if (value == (uintptr_t)function->theirs || is_in_copy(value))
		mf_slots_add(at, (uintptr_t)function->ours);
	else if (type == R_X86_64_JUMP_SLOT && is_unbound(object, function, value) && binds_to_theirs(object, function))
		add(at, (uintptr_t)function->theirs, (uintptr_t)function->ours);
}

static void collect(const struct mf_definitions *object)
{
	for (uint32_t i = 0; i < MF_DEFINITIONS_RELOCATIONS; i++) {
		const ElfW(Rela) *table = object->relocations[i].table;
		uint64_t n = object->relocations[i].size / sizeof(*table);

		for (uint64_t j = 0; table && j < n; j++)
			look_at(object, &table[j]);
	}
}

static void keep_ours(const struct mf_definition *definition, void *data)
{
	*(const void **)data = definition->address;
}

static int find_ours(struct dl_phdr_info *object, size_t size, void *data)
{
	struct mf_definitions definitions;

	if (!mf_definitions_is_mapped(object, PF_R | PF_X, (uintptr_t)find_ours, 1) ||
	    !mf_definitions_open(&definitions, object))
		return 0;
	for (size_t i = 0; i < FUNCTIONS; i++)
		mf_definitions_find(&definitions, functions[i].name, (uint32_t)i, keep_ours, &functions[i].ours);
	return 1;
}

static int note_trouble(struct dl_phdr_info *object, size_t size, void *data)
{
	struct mf_definitions definitions;
	const char *reason = NULL;

	if (mf_definitions_open(&definitions, object) && !is_named(definitions.soname, "ld-linux*"))
		reason = trouble_with(&definitions);
	if (is_named(definitions.soname, "libmassif-preload.so") && n_copies < COPIES_MAX &&
	    !mf_definitions_is_mapped(object, PF_R | PF_X, (uintptr_t)note_trouble, 1))
		copies[n_copies++] = *object;
	if (reason)
		refuse(-EOPNOTSUPP, reason);
	return 0;
}

void mf_slots_begin(void)
{
	const size_t bytes = MF_LATE_WORDS_MAX * sizeof(*words);

	words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (words == MAP_FAILED) {
		refuse(-ENOMEM, "it has no memory left for the shim");
		n_words = MF_LATE_WORDS_MAX;
		return;
	}
	mf_own_memory_add(bytes);
	mf_own_memory_note(words, bytes);
	dl_iterate_phdr(find_ours, NULL);
	dl_iterate_phdr(note_trouble, NULL);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		functions[i].theirs = mf_real_look_up(functions[i].name);
		functions[i].first = mf_libc_has_dlsym ? dlsym(RTLD_DEFAULT, functions[i].name) : functions[i].theirs;
	}
}

static int note_new_trouble(struct dl_phdr_info *object, size_t size, void *data)
{
	struct mf_definitions definitions;

	if (mf_definitions_open(&definitions, object) && !is_named(definitions.soname, "ld-linux*"))
		lets_new_be |= trouble_with(&definitions) || has_allocator;
	return 0;
}

/* Binds a new object, which has not been relocated, to the shim's functions. */
static void bind(const struct mf_definitions *object)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (functions[i].ours && (functions[i].theirs || functions[i].kind == KIND_OPERATOR))
			mf_deepbind_bind(object, functions[i].name, functions[i].ours);
}

void mf_slots_arrived(const struct dl_phdr_info *object)
{
	struct mf_definitions definitions;

	if (!mf_definitions_open(&definitions, object) || is_named(definitions.soname, "ld-linux*") ||
	    is_named(definitions.soname, "libmassif-preload.so"))
		return;
	if (!collected) {
		collect(&definitions);
		return;
	}
	/* All new objects are mapped before any of them is relocated. */
	if (!has_looked)
		dl_iterate_phdr(note_new_trouble, NULL);
	has_looked = true;
	if (!lets_new_be)
		bind(&definitions);
}

void mf_slots_done(void)
{
	has_looked = false;
	if (lets_new_be)
		mf_session_store.header->late_objects_error = -EOPNOTSUPP;
}

int mf_slots_end(const struct mf_late_word **all, uint32_t *n, const char **reason)
{
	collected = true;
	*reason = refusal;
	*all = words;
	*n = n_words;
	return refusal ? refusal_code : 0;
}

#else

void mf_slots_begin(void)
{
}

void mf_slots_arrived(const struct dl_phdr_info *object)
{
}

void mf_slots_done(void)
{
}

void mf_slots_add(uint64_t address, uint64_t value)
{
}

int mf_slots_end(const struct mf_late_word **all, uint32_t *n, const char **reason)
{
	*reason = "attaching to a heap is not implemented for this processor";
	return -ENOTSUP;
}

#endif
