// SPDX-License-Identifier: GPL-2.0
// The munmap core works on a maple state (6.1 and 6.2); on a VMA iterator later (commit 183654ce26a5).
#include <linux/mm.h>

int probe(struct ma_state *mas, struct mm_struct *mm);
int probe(struct ma_state *mas, struct mm_struct *mm)
{
	return do_mas_munmap(mas, mm, 0, 0, NULL, false);
}
