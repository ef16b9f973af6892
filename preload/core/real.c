// SPDX-License-Identifier: GPL-2.0
// The real functions: those that the program would have called without the shim.
//
// dlsym() may allocate. Allocations made before the table is filled come from a small arena (the early arena). Its
// blocks are never reused, since there are only a few.

#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"
#include "libc.h"
#include "load_order.h"
#include "old_libc.h"
#include "scope.h"
#include "session.h"

#define EARLY_ALIGN 64u

_Alignas(EARLY_ALIGN) unsigned char mf_real_early[MF_REAL_EARLY_SIZE];
static size_t early_used;

size_t mf_real_early_size(const void *pointer)
{
	size_t size;

	memcpy(&size, (const unsigned char *)pointer - EARLY_ALIGN, sizeof(size));
	return size;
}

/*
 * Allocates a block in the early arena, or returns NULL if there is no room. The block's size is stored in front of it.
 * Blocks are never reused, so a new block is always zero-filled.
 */
static void *early_malloc(size_t size)
{
	size_t need = EARLY_ALIGN + ((size + EARLY_ALIGN - 1) & ~(size_t)(EARLY_ALIGN - 1));
	size_t at = __atomic_load_n(&early_used, __ATOMIC_RELAXED);

	do {
		if (size > MF_REAL_EARLY_SIZE || need > MF_REAL_EARLY_SIZE - at) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&early_used, &at, at + need, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(mf_real_early + at, &size, sizeof(size));
	return mf_real_early + at + EARLY_ALIGN;
}

static void early_free(void *pointer)
{
}

static void *early_calloc(size_t n, size_t size)
{
	size_t product;

	if (__builtin_mul_overflow(n, size, &product)) {
		errno = ENOMEM;
		return NULL;
	}
	return early_malloc(product);
}

static void *early_realloc(void *pointer, size_t size)
{
	void *fresh = early_malloc(size);

	if (fresh && pointer) {
		size_t old = mf_real_early_size(pointer);

		memcpy(fresh, pointer, old < size ? old : size);
	}
	return fresh;
}

MF_LASTING struct mf_real mf_real_functions = {
	.malloc = early_malloc,
	.free = early_free,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.program_malloc = early_malloc,
	.program_free = early_free,
};
MF_LASTING int mf_real_state;
MF_LASTING static bool is_glibc;

static void fail(const char *symbol)
{
	static const char text[] = "massif: no such function in the program: ";

	/* Write the error message and end the process: the program cannot run without the allocation function @symbol. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
	    write(STDERR_FILENO, symbol, strlen(symbol)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(127);
	_exit(127);
}

/*
 * Returns whether @function is defined outside the shim. In an executable that is not position-independent, @function
 * can be the address of an entry in the procedure linkage table (of an undefined symbol). Such an entry does not count,
 * because it jumps to a definition elsewhere: the shim's.
 */
static bool is_theirs(void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info theirs, ours;

	return function && dladdr(&mf_real_functions, &ours) &&
	       dladdr1(function, &theirs, (void **)&symbol, RTLD_DL_SYMENT) &&
	       theirs.dli_fbase != ours.dli_fbase && symbol && symbol->st_shndx != SHN_UNDEF;
}

/* True if the shim was loaded later than the program, so that it precedes nothing in the order of search. */
MF_LASTING static bool is_late;
static const char *missing; /* a function that a late shim did not find */

struct search {
	const char *symbol;
	void *function;
};

/* Searches the objects after the program, which is the first of all. */
static int search_after_program(struct dl_phdr_info *program, size_t size, void *data)
{
	struct search *search = data;

	search->function = mf_scope_look_up(program, RTLD_NEXT, search->symbol);
	return 1;
}

/* Returns the next definition of @symbol after the shim's; if the shim is late, the first of all. */
static void *look_up(const char *symbol)
{
	struct search search = { symbol, NULL };

	if (!mf_libc_has_dlsym)
		return mf_old_libc_find(symbol, is_late);
	search.function = is_late ? dlsym(RTLD_DEFAULT, symbol) : NULL;
	if (!search.function)
		return dlsym(RTLD_NEXT, symbol);
	if (!is_theirs(search.function))
		dl_iterate_phdr(search_after_program, &search);
	return search.function && is_theirs(search.function) ? search.function : dlsym(RTLD_NEXT, symbol);
}

/*
 * Returns the program's own definition of @symbol, which takes precedence over the shim's. If the program has none,
 * returns the next definition after the shim's.
 */
static void *look_up_program(const char *symbol)
{
	void *function;

	if (!mf_libc_has_dlsym)
		return mf_old_libc_find(symbol, true);
	function = dlsym(RTLD_DEFAULT, symbol);
	return is_theirs(function) ? function : look_up(symbol);
}

/*
 * Returns whether the program may lack @symbol: before glibc 2.34, some functions are in libdl.so.2 or libpthread.so.0. A
 * late shim has been loaded with dlopen().
 */
static bool may_lack(const char *symbol)
{
	return !mf_libc_has_dlsym &&
	       (!strcmp(symbol, "pthread_setname_np") ||
		(!is_late && (!strcmp(symbol, "dlopen") || !strcmp(symbol, "dlclose"))));
}

/* Finds glibc's variable, or the program's copy of it, which the dynamic linker also uses. */
static void find_alone(void)
{
	const char *alone = mf_libc_has_dlsym ? dlsym(RTLD_DEFAULT, "__libc_single_threaded") : NULL;

	if (alone)
		mf_gate_alone = alone;
}

/* Returns whether @function is the C library's malloc(). */
static bool is_libc_malloc(void *function)
{
	return function == (mf_libc_has_dlsym ? dlsym(RTLD_DEFAULT, "__libc_malloc") :
						mf_old_libc_find("__libc_malloc", true));
}

bool mf_real_resolve(void)
{
	MF_LASTING static int started;
	struct mf_real found;
	int saved;

	mf_libc_bind();
	saved = errno;
	/*
	 * At the first event, the process still has only one thread. So this function can be re-entered only through an
	 * allocation by dlsym() below. That allocation is made from the early arena.
	 */
	if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		return __atomic_load_n(&mf_real_state, __ATOMIC_ACQUIRE);
	/*
	 * If a library insists on being first in the dynamic linker's list of objects, move the shim behind it (see
	 * load_order.c). This must be done before any function is looked up, because the first function found may be in
	 * that library, and the library checks the list when that function is first called.
	 */
	if (!is_late)
		mf_load_order_yield();
#define RESOLVE_BY(search, member, symbol)                         \
	found.member = (__typeof__(found.member))search(symbol); \
	if (!found.member && !may_lack(symbol)) {                \
		if (!is_late)                                    \
			fail(symbol);                            \
		missing = symbol;                                \
	}
#define RESOLVE(member, symbol, type, arguments)	 RESOLVE_BY(look_up, member, symbol)
#define RESOLVE_PROGRAM(member, symbol, type, arguments) RESOLVE_BY(look_up_program, member, symbol)
	MF_REAL_FUNCTIONS(RESOLVE)
	MF_REAL_PROGRAM(RESOLVE_PROGRAM)
#undef RESOLVE_PROGRAM
#undef RESOLVE
#undef RESOLVE_BY
	if (missing) {
		errno = saved;
		return false;
	}
	is_glibc = found.program_malloc == found.malloc && is_libc_malloc((void *)found.malloc);
	find_alone();
	mf_real_functions = found;
	__atomic_store_n(&mf_real_state, 1, __ATOMIC_RELEASE);
	mf_load_order_return(&mf_real_functions);
	errno = saved;
	return true;
}

void *mf_real_look_up(const char *symbol)
{
	return look_up(symbol);
}

void *(*mf_real_dlopen(void))(const char *name, int mode)
{
	void *(*function)(const char *, int) = __atomic_load_n(&mf_real_functions.dlopen, __ATOMIC_ACQUIRE);

	if (!function) {
		function = (void *(*)(const char *, int))look_up("dlopen");
		__atomic_store_n(&mf_real_functions.dlopen, function, __ATOMIC_RELEASE);
	}
	return function;
}

int (*mf_real_dlclose(void))(void *handle)
{
	int (*function)(void *) = __atomic_load_n(&mf_real_functions.dlclose, __ATOMIC_ACQUIRE);

	if (!function) {
		function = (int (*)(void *))look_up("dlclose");
		__atomic_store_n(&mf_real_functions.dlclose, function, __ATOMIC_RELEASE);
	}
	return function;
}

int (*mf_real_pthread_setname_np(void))(pthread_t thread, const char *name)
{
	int (*function)(pthread_t, const char *) =
		__atomic_load_n(&mf_real_functions.pthread_setname_np, __ATOMIC_ACQUIRE);

	if (!function) {
		function = (int (*)(pthread_t, const char *))look_up("pthread_setname_np");
		__atomic_store_n(&mf_real_functions.pthread_setname_np, function, __ATOMIC_RELEASE);
	}
	return function;
}

const char *mf_real_resolve_late(void)
{
	is_late = true;
	missing = mf_libc_try_bind();
	if (!missing)
		mf_real_resolve();
	return missing;
}

void mf_real_redirect(void *from, void *to)
{
#define REDIRECT(member, symbol, type, arguments)    \
	if ((void *)mf_real_functions.member == from) \
		mf_real_functions.member = (__typeof__(mf_real_functions.member))to;
	MF_REAL_FUNCTIONS(REDIRECT)
	MF_REAL_PROGRAM(REDIRECT)
#undef REDIRECT
}

/*
 * glibc's allocator stores the size of a chunk, including its header, in the word before the block; the low three bits
 * are flags. For other allocators, the function uses malloc_usable_size() and assumes that they have no header.
 */
size_t mf_real_extent(const void *pointer)
{
	if (is_glibc)
		return ((const size_t *)pointer)[-1] & ~(size_t)7;
	return mf_real_functions.program_malloc_usable_size((void *)(uintptr_t)pointer);
}

uint32_t mf_real_distance(void)
{
	/* A glibc chunk consists of a word for its size and at least three more words. */
	return is_glibc ? 32 : 16;
}
