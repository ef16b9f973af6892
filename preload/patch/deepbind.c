// SPDX-License-Identifier: GPL-2.0
// Handles objects loaded with RTLD_DEEPBIND.
//
// Such an object looks up symbols first in itself and its dependencies, which include the C library, and only then in
// the executable and the preloaded libraries. So the shim resolves the object's references to allocation functions
// before the dynamic linker does. It turns the entry in the object's own symbol table into a local symbol with the
// address of the shim's function. The dynamic linker does not look up local symbols.
//
// Only dlopen() knows the flags with which an object is loaded, and where the real dlopen() searches for libraries
// depends on its caller. So the shim's dlopen() saves the flags and jumps to the real one, which then sees the program
// as its caller.

#include "deepbind.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "patch.h"
#include "core/start.h"
#include "core/thread.h"

#ifdef __x86_64__

/* In place of a dlopen() that is in no library (glibc before 2.34): the program calls it although it is a weak symbol. */
static void *refuse(const char *name, int mode)
{
	return NULL;
}

/* For the assembly below: saves the flags in @mode and returns the address of the real dlopen(). */
void *mf_deepbind_note(int mode) MF_HIDDEN;

__attribute__((used)) void *mf_deepbind_note(int mode)
{
	mf_thread_local.binds_deep = mode & RTLD_DEEPBIND && !(mode & RTLD_NOLOAD);
	mf_start();
	return mf_real_dlopen() ? (void *)mf_real_dlopen() : (void *)refuse;
}

__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl dlopen\n"
	".type dlopen, @function\n"
	"dlopen:\n"
	"	.cfi_startproc\n"
	"	push	%rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push	%rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov	%esi, %edi\n"
	"	call	mf_deepbind_note\n"
	"	add	$8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop	%rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop	%rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp	*%rax\n"
	"	.cfi_endproc\n"
	"	.size dlopen, . - dlopen\n"
	".popsection\n");

bool mf_deepbind_is_wanted(void)
{
	return mf_thread_local.binds_deep;
}

void mf_deepbind_done(void)
{
	mf_thread_local.binds_deep = false;
}

/* If symbol @number is an undefined reference to @name, turns it into a local symbol with the address @ours. */
static void settle(const struct mf_definitions *object, uint64_t number, const char *name,
		   const void *ours)
{
	const ElfW(Sym) *symbol = &object->symbols[number];
	ElfW(Sym) settled = *symbol;

	if (symbol->st_shndx != SHN_UNDEF || strcmp(object->names + symbol->st_name, name))
		return;
	settled.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol->st_info));
	settled.st_other = STV_HIDDEN;
	settled.st_shndx = SHN_ABS;
	settled.st_value = (uintptr_t)ours;
	/* If the symbol cannot be overwritten, the dynamic linker binds the reference as it would without the shim. */
	mf_patch_write((void *)(uintptr_t)symbol, &settled, sizeof(settled));
}

void mf_deepbind_bind(const struct mf_definitions *object, const char *name, const void *ours)
{
	mf_patch_begin();
	for (uint32_t i = 0; i < MF_DEFINITIONS_RELOCATIONS; i++) {
		const ElfW(Rela) *table = object->relocations[i].table;
		uint64_t n = object->relocations[i].size / sizeof(*table);

		for (uint64_t j = 0; table && j < n; j++)
			if (ELF64_R_SYM(table[j].r_info))
				settle(object, ELF64_R_SYM(table[j].r_info), name, ours);
	}
	mf_patch_end();
}

#else

bool mf_deepbind_is_wanted(void)
{
	return false;
}

void mf_deepbind_done(void)
{
}

void mf_deepbind_bind(const struct mf_definitions *object, const char *name, const void *ours)
{
}

#endif
