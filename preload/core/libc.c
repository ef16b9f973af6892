// SPDX-License-Identifier: GPL-2.0
// The C library's own functions, found without the program's symbols.
//
// The dynamic linker binds a call to the first definition of its name, which may be the program's or another
// preloaded library's. So these functions are looked up directly in the symbol tables of libc.so.6 and the
// dynamic linker, which are found through the list that the dynamic linker keeps for debuggers (_r_debug).

#include "libc.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "definitions.h"
#include "session.h"

#ifdef __x86_64__

#define LIBC	"libc.so.6"
#define THREADS "libpthread.so.0"

/*
 * Column 2: what to do if libc.so.6 lacks the function, as it does before glibc 2.34 (_dl_find_object(): 2.35).
 * REFUSE: the shim cannot work. CHECK: callers must check mf_libc_has_dlsym or mf_libc_has_find_object first. LATER:
 * the function is in libpthread.so.0, which may be loaded later; until then, calls fail with EAGAIN.
 */
#define FUNCTIONS(X) \
	X(__errno_location, REFUSE) \
	X(__register_atfork, REFUSE) \
	X(_dl_find_object, CHECK) \
	X(abort, REFUSE) \
	X(dl_iterate_phdr, REFUSE) \
	X(dladdr, CHECK) \
	X(dladdr1, CHECK) \
	X(dlsym, CHECK) \
	X(pthread_key_create, LATER) \
	X(pthread_key_delete, LATER) \
	X(pthread_setcancelstate, REFUSE) \
	X(pthread_setcanceltype, REFUSE) \
	X(pthread_setspecific, LATER)

enum otherwise { REFUSE, CHECK, LATER };

MF_LASTING bool mf_libc_has_dlsym, mf_libc_has_find_object;

/*
 * Defines a function in the shim with the same name as a function of the C library. The shim's function jumps to the C
 * library's own definition, whose address is stored in a variable.
 */
#define ENTRY(function, otherwise)                         \
	MF_LASTING void *mf_libc_##function MF_HIDDEN;                         \
	__asm__(".pushsection .text\n"                             \
		".p2align 4\n"                                      \
		".globl " #function "\n"                            \
		".hidden " #function "\n"                           \
		".type " #function ", @function\n" #function ":\n"  \
		"	.cfi_startproc\n"                           \
		"	jmp	*mf_libc_" #function "(%rip)\n"     \
		"	.cfi_endproc\n"                             \
		".size " #function ", . - " #function "\n"          \
		".popsection\n");
FUNCTIONS(ENTRY)

static const struct {
	const char *name;
	void **address;
	enum otherwise otherwise;
} functions[] = {
#define ROW(function, otherwise) { #function, &mf_libc_##function, otherwise },
	FUNCTIONS(ROW)
#undef ROW
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* pthread_atfork(), which glibc links statically, uses this to identify the object that registers the handlers. */
void *const __dso_handle MF_HIDDEN = (void *)&__dso_handle;

static void fail(const char *what)
{
	static const char text[] = "massif: no such function in the C library: ";

	/* Report the missing function with bare system calls, because without the C library there is no other way. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 || write(STDERR_FILENO, what, strlen(what)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(127);
	_exit(127);
}

static void keep_address(const struct mf_definition *definition, void *data)
{
	/*
	 * The C library may define a function in several versions. For the functions that the shim uses, all versions
	 * have the same address, so any of them will do. The address of an IFUNC is that of its resolver and cannot be
	 * used.
	 */
	if (!definition->chosen_late)
		*(void **)data = definition->address;
}

/* Fills @object from the program headers in memory. Returns false if no ELF header is mapped at the object's start. */
static bool describe(const struct link_map *map, struct dl_phdr_info *object)
{
	const ElfW(Ehdr) *header = (const void *)map->l_addr;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return false;
	*object = (struct dl_phdr_info){
		.dlpi_addr = map->l_addr,
		.dlpi_name = map->l_name,
		.dlpi_phdr = (const void *)(map->l_addr + header->e_phoff),
		.dlpi_phnum = header->e_phnum,
	};
	return true;
}

/*
 * Returns whether @name is the DT_SONAME of the object @map. Reads only the object's dynamic section, since not every
 * object begins with an ELF header.
 */
static bool has_name(const struct link_map *map, const char *name)
{
	const char *names = NULL;
	ElfW(Xword) soname = 0;

	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SONAME)
			soname = entry->d_un.d_val;
		else if (entry->d_tag == DT_STRTAB)
			names = (const char *)(entry->d_un.d_ptr < map->l_addr ?
						       entry->d_un.d_ptr + map->l_addr :
						       entry->d_un.d_ptr);
	}
	return soname && names && !strcmp(names + soname, name);
}

/* Opens the loaded library @soname in @definitions. @object: memory that must stay valid as long as @definitions. */
static bool open_library(const char *soname, struct dl_phdr_info *object, struct mf_definitions *definitions)
{
	const struct link_map *map = _r_debug.r_map;

	while (map && !has_name(map, soname))
		map = map->l_next;
	return map && describe(map, object) && mf_definitions_open(definitions, object);
}

/* Stands in for the functions of a library that is not loaded. */
static int is_not_loaded(void)
{
	return EAGAIN;
}

static bool is_unbound(uint32_t i)
{
	return !*functions[i].address || *functions[i].address == (void *)is_not_loaded;
}

/* Looks up, in @soname, the functions that are still missing and that may be there. */
static void bind(const char *soname, bool later)
{
	struct mf_definitions definitions;
	struct dl_phdr_info object;

	if (!open_library(soname, &object, &definitions))
		return;
	for (uint32_t i = 0; i < N_FUNCTIONS; i++)
		if (is_unbound(i) && (!later || functions[i].otherwise == LATER))
			mf_definitions_find(&definitions, functions[i].name, i, keep_address, functions[i].address);
}

MF_LASTING static bool is_bound, waits_for_threads;

const char *mf_libc_try_bind(void)
{
	if (is_bound)
		return NULL;
	bind(LIBC, false);
	bind(THREADS, true);
	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		if (*functions[i].address || functions[i].otherwise == CHECK)
			continue;
		if (functions[i].otherwise == REFUSE)
			return functions[i].name;
		*functions[i].address = (void *)is_not_loaded;
		waits_for_threads = true;
	}
	mf_libc_has_dlsym = mf_libc_dlsym && mf_libc_dladdr && mf_libc_dladdr1;
	mf_libc_has_find_object = mf_libc__dl_find_object;
	is_bound = true;
	return NULL;
}

void mf_libc_bind_later(void)
{
	if (!waits_for_threads)
		return;
	bind(THREADS, true);
	waits_for_threads = mf_libc_pthread_key_create == (void *)is_not_loaded;
}

void mf_libc_bind(void)
{
	const char *missing = mf_libc_try_bind();

	if (missing)
		fail(missing);
}

#else

bool mf_libc_has_dlsym = true, mf_libc_has_find_object = true;

const char *mf_libc_try_bind(void)
{
	return NULL;
}

void mf_libc_bind_later(void)
{
}

void mf_libc_bind(void)
{
}

#endif
