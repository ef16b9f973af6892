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

#ifdef __x86_64__

#define LIBC "libc.so.6"

#define FUNCTIONS(X) \
	X(__errno_location) \
	X(__pthread_key_create) \
	X(__register_atfork) \
	X(_dl_find_object) \
	X(abort) \
	X(dl_iterate_phdr) \
	X(dladdr) \
	X(dladdr1) \
	X(dlsym) \
	X(pthread_key_create) \
	X(pthread_key_delete) \
	X(pthread_mutex_lock) \
	X(pthread_mutex_unlock) \
	X(pthread_once) \
	X(pthread_setcancelstate) \
	X(pthread_setspecific)

/*
 * Defines a function in the shim with the same name as a function of the C library. The shim's function jumps to the C
 * library's own definition, whose address is stored in a variable.
 */
#define ENTRY(function)                                    \
	void *mf_libc_##function MF_HIDDEN;                         \
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
} functions[] = {
#define ROW(function) { #function, &mf_libc_##function },
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

const char *mf_libc_try_bind(void)
{
	const struct link_map *map = _r_debug.r_map;
	struct mf_definitions definitions;
	struct dl_phdr_info object;

	if (mf_libc_abort)
		return NULL;
	while (map && !has_name(map, LIBC))
		map = map->l_next;
	if (!map || !describe(map, &object) || !mf_definitions_open(&definitions, &object))
		return LIBC;
	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		mf_definitions_find(&definitions, functions[i].name, i, keep_address,
				    functions[i].address);
		if (!*functions[i].address)
			return functions[i].name;
	}
	return NULL;
}

void mf_libc_bind(void)
{
	const char *missing = mf_libc_try_bind();

	if (missing)
		fail(missing);
}

#else

const char *mf_libc_try_bind(void)
{
	return NULL;
}

void mf_libc_bind(void)
{
}

#endif
