// SPDX-License-Identifier: GPL-2.0
// One mapping, described for the consumer in the words of /proc/PID/maps.
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "record.h"
#include "target.h"
#include "vma.h"

#define PATH_SPACE	4096

/* MASSIF_PROT_* of a mapping; file is its file, if it has one. */
u32 massif_vma_prot(unsigned long vm_flags, const struct file *file)
{
	static const struct {
		unsigned long vm;
		u32 prot;
	} bits[] = {
		{ VM_READ,	MASSIF_PROT_READ },
		{ VM_WRITE,	MASSIF_PROT_WRITE },
		{ VM_EXEC,	MASSIF_PROT_EXEC },
		/* Shared anonymous memory is a file of shmem's. */
		{ VM_SHARED,	MASSIF_PROT_SHARED | MASSIF_PROT_FILE },
		{ VM_GROWSDOWN,	MASSIF_PROT_GROWSDOWN },
	};
	u32 prot = file ? MASSIF_PROT_FILE : 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (vm_flags & bits[i].vm)
			prot |= bits[i].prot;
	return prot;
}

/* The word for a mapping that is not a file; "" for most. */
static const char *word(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;

	if (vma->vm_ops && vma->vm_ops->name)
		return vma->vm_ops->name(vma) ?: "";
	if (vma->vm_start <= mm->brk && vma->vm_end >= mm->start_brk)
		return "[heap]";
	if (vma->vm_start <= mm->start_stack && vma->vm_end >= mm->start_stack)
		return "[stack]";
	return "";
}

/* Puts the name into space (PATH_SPACE bytes), NUL-terminated; returns its length. */
static u32 put_name(struct vm_area_struct *vma, char *space)
{
	const char *name;

	if (!vma->vm_file)
		return strscpy(space, word(vma), PATH_SPACE);
	name = d_path(&vma->vm_file->f_path, space, PATH_SPACE);
	if (IS_ERR(name))
		return strscpy(space, "(path too long)", PATH_SPACE);
	/* d_path builds from the end. */
	memmove(space, name, strlen(name) + 1);
	return strlen(space);
}

/*
 * Fills rec (MASSIF_VMA_RECORD_MAX bytes of space, zeroed by us) about the part [start, end) of
 * vma; returns the record's size. mmap_lock is held.
 */
size_t massif_vma_describe(struct massif_target *target, struct vm_area_struct *vma, u32 type,
			   unsigned long start, unsigned long end, struct massif_rec_vma *rec)
{
	struct file *file = vma->vm_file;
	size_t size;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	massif_record_init(&rec->h, type, 0, target->session, target);
	rec->addr = start;
	rec->len = end - start;
	rec->prot = massif_vma_prot(vma->vm_flags, file);
	rec->pgoff = file ? vma->vm_pgoff + ((start - vma->vm_start) >> PAGE_SHIFT) : 0;
	rec->ino = file ? file_inode(file)->i_ino : 0;
	rec->dev_major = file ? MAJOR(file_inode(file)->i_sb->s_dev) : 0;
	rec->dev_minor = file ? MINOR(file_inode(file)->i_sb->s_dev) : 0;
	rec->name_len = put_name(vma, rec->name);

	/* No byte of ours goes out uninitialised. */
	size = sizeof(*rec) + rec->name_len + 1;
	memset((void *)rec + size, 0, ALIGN(size, 8) - size);
	rec->h.size = ALIGN(size, 8);
	return rec->h.size;
}

/* A NAME record for [addr, addr + len) of current's address space, if that is still one mapping. */
void massif_vma_name(struct massif_target *target, unsigned long addr, unsigned long len)
{
	struct massif_rec_vma *rec = kmalloc(MASSIF_VMA_RECORD_MAX, GFP_KERNEL);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (!rec) {
		massif_target_desync(target);
		return;
	}
	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && vma->vm_file) {
		massif_vma_describe(target, vma, MASSIF_REC_NAME, addr,
				    min(addr + len, vma->vm_end), rec);
		massif_record_write(target->session, target, &rec->h, false);
	}
	mmap_read_unlock(mm);
	kfree(rec);
}
