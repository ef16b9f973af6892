// SPDX-License-Identifier: GPL-2.0
// Describes one mapping in VMA and NAME records, with the names that /proc/PID/maps uses.
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat/file.h"
#include "record.h"
#include "target.h"
#include "vma.h"

#define PATH_SPACE	4096

/**
 * massif_vma_prot() - translate a mapping's flags to MASSIF_PROT_*.
 * @file: the mapped file, or NULL.
 */
u32 massif_vma_prot(unsigned long vm_flags, const struct file *file)
{
	static const struct {
		unsigned long vm;
		u32 prot;
	} bits[] = {
		{ VM_READ,	MASSIF_PROT_READ },
		{ VM_WRITE,	MASSIF_PROT_WRITE },
		{ VM_EXEC,	MASSIF_PROT_EXEC },
		/* Shared anonymous memory is backed by a shmem file. */
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

/* Returns the name of a mapping that has no file; "" for most mappings. */
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

/*
 * Writes the NUL-terminated name of the mapping, which is the path of its file if it has one, to @space (PATH_SPACE
 * bytes). Returns the name's length.
 */
static u32 put_name(struct vm_area_struct *vma, char *space)
{
	const char *name;

	if (!vma->vm_file)
		return strscpy(space, word(vma), PATH_SPACE);
	name = d_path(massif_file_path(vma->vm_file), space, PATH_SPACE);
	if (IS_ERR(name))
		return strscpy(space, "(path too long)", PATH_SPACE);
	/* d_path() returns a pointer into the end of the buffer. */
	memmove(space, name, strlen(name) + 1);
	return strlen(space);
}

/**
 * massif_vma_describe() - fill in a VMA or NAME record for part of a mapping.
 * @type: MASSIF_REC_VMA or MASSIF_REC_NAME.
 * @start: first address of the part.
 * @end: address just past the part.
 * @rec: MASSIF_VMA_RECORD_MAX bytes of space; padding is zeroed.
 * Context: mmap_lock is held.
 * Return: the size of the record in bytes.
 */
size_t massif_vma_describe(struct massif_target *target, struct vm_area_struct *vma, u32 type,
			   unsigned long start, unsigned long end, struct massif_rec_vma *rec)
{
	struct file *file = vma->vm_file;
	const struct inode *inode = file ? massif_file_inode(file) : NULL;
	size_t size;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	massif_record_init(&rec->h, type, 0, target->session, target);
	rec->addr = start;
	rec->len = end - start;
	rec->prot = massif_vma_prot(vma->vm_flags, file);
	rec->pgoff = file ? vma->vm_pgoff + ((start - vma->vm_start) >> PAGE_SHIFT) : 0;
	rec->ino = inode ? inode->i_ino : 0;
	rec->dev_major = inode ? MAJOR(inode->i_sb->s_dev) : 0;
	rec->dev_minor = inode ? MINOR(inode->i_sb->s_dev) : 0;
	rec->name_len = put_name(vma, rec->name);

	/* Do not pass uninitialised kernel memory to the consumer. */
	size = sizeof(*rec) + rec->name_len + 1;
	memset((void *)rec + size, 0, ALIGN(size, 8) - size);
	rec->h.size = ALIGN(size, 8);
	return rec->h.size;
}

/**
 * massif_vma_name() - write a NAME record for a range of current's address space, if it is still one file
 * mapping.
 * @len: length in bytes.
 * Context: task_work of current; takes mmap_lock for reading; may sleep.
 */
void massif_vma_name(struct massif_target *target, unsigned long addr, unsigned long len)
{
	/* Charged to the memory cgroup, because a program can have any number of threads that wait below. */
	struct massif_rec_vma *rec = kmalloc(MASSIF_VMA_RECORD_MAX, GFP_KERNEL_ACCOUNT);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (!rec) {
		massif_target_desync(target);
		return;
	}
	/* Killable: another thread can hold this lock for any length of time. */
	if (mmap_read_lock_killable(mm)) {
		massif_target_unnamed(target);
		kfree(rec);
		return;
	}
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && vma->vm_file) {
		massif_vma_describe(target, vma, MASSIF_REC_NAME, addr,
				    min(addr + len, vma->vm_end), rec);
		massif_record_write(target->session, target, &rec->h, false);
	}
	mmap_read_unlock(mm);
	kfree(rec);
}
