// SPDX-License-Identifier: GPL-2.0
// Looks functions up as the dynamic linker does for a given object.
//
// The order of search depends on the object: RTLD_DEEPBIND puts the object's own dependencies first. Only the dynamic
// linker knows how an object was loaded. dlsym() takes the object that its return address is in for the caller. So it is
// called with the address of a return instruction in @object, which leads back to the shim.

#include "scope.h"

#include <dlfcn.h>
#include <string.h>

#include "libc.h"
#include "session.h"

#ifdef __x86_64__

enum { RETURN = 0xc3 };

/* Calls @function, as dlsym(), with the return address @back. At that address there is a return instruction. */
void *mf_scope_call(void *handle, const char *name, void *(*function)(void *, const char *), const void *back) MF_HIDDEN;

__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl mf_scope_call\n"
	".type mf_scope_call, @function\n"
	"mf_scope_call:\n"
	"	.cfi_startproc\n"
	"	lea	1f(%rip), %rax\n"
	"	push	%rax\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push	%rcx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	jmp	*%rdx\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	"	.size mf_scope_call, . - mf_scope_call\n"
	".popsection\n");

/* Returns a return instruction of @object, or NULL. Any such byte is one if the processor gets there. */
static const void *find_return(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		const void *found = NULL;

		if (header->p_type == PT_LOAD && (header->p_flags & (PF_R | PF_X)) == (PF_R | PF_X))
			found = memchr((const void *)(uintptr_t)(object->dlpi_addr + header->p_vaddr), RETURN,
				       header->p_filesz);
		if (found)
			return found;
	}
	return NULL;
}

void *mf_scope_look_up(const struct dl_phdr_info *object, void *handle, const char *name)
{
	const void *back = mf_libc_has_dlsym ? find_return(object) : NULL;

	return back ? mf_scope_call(handle, name, dlsym, back) : NULL;
}

#else

void *mf_scope_look_up(const struct dl_phdr_info *object, void *handle, const char *name)
{
	return NULL;
}

#endif
