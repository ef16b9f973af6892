/* SPDX-License-Identifier: GPL-2.0 */
/* Describes one mapping in VMA and NAME records. */
#ifndef MASSIF_VMA_H
#define MASSIF_VMA_H

#include <linux/types.h>

struct file;
struct massif_rec_vma;
struct massif_target;
struct vm_area_struct;

/* Size of the largest VMA or NAME record, in bytes. A path is at most 4096 bytes long. */
#define MASSIF_VMA_RECORD_MAX	(sizeof(struct massif_rec_vma) + 4096 + 8)

u32 massif_vma_prot(unsigned long vm_flags, const struct file *file);
size_t massif_vma_describe(struct massif_target *target, struct vm_area_struct *vma, u32 type,
			   unsigned long start, unsigned long end, struct massif_rec_vma *rec);
void massif_vma_name(struct massif_target *target, unsigned long addr, unsigned long len);

#endif
