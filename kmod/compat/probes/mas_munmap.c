// SPDX-License-Identifier: GPL-2.0
// Compiles if the kernel's munmap function works on a maple state (6.1 and 6.2); later it works on a VMA iterator
// (commit 183654ce26a5).
#include <linux/mm.h>

int probe(struct ma_state *mas, struct mm_struct *mm);
int probe(struct ma_state *mas, struct mm_struct *mm)
{
	return do_mas_munmap(mas, mm, 0, 0, NULL, false);
}
