// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel has wrapper functions to change a mapping's flags (since 6.3, commit 1c71222e5f23).
#include <linux/mm.h>

void probe(struct vm_area_struct *vma);
void probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
}
