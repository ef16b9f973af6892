// SPDX-License-Identifier: GPL-2.0
// Corrects a profile using the kernel's list of existing mappings (a resync).

#include "pages/resync.h"

#include <stdio.h>

#define PAGE_MASK 4095ull

/*
 * Returns the context of the BSS of a program or its interpreter. The BSS is not mapped from the file, so it gets the
 * context of the file mapping directly before it.
 */
static uint32_t context_of_bss(struct mf_accounting *a, const struct mf_resync_vma *vma)
{
	const struct mf_interval *before = vma->start ? mf_space_find(&a->space, vma->start - 1) : NULL;

	if (before && before->file && mf_file_is_path(mf_files_get(a->files, before->file)))
		return before->context;
	return mf_accounting_note(a, MF_WORDS_ANON);
}

/* Returns a context with a placeholder frame (accounting.h), for a mapping whose stack is unknown. */
static uint32_t context_of_words(struct mf_accounting *a, enum mf_resync_reason reason,
				 const struct mf_resync_vma *vma)
{
	const struct mf_file *file;
	char words[4096];

	if (reason == MF_RESYNC_ATTACH)
		return mf_accounting_notes(a, MF_WORDS_ATTACH,
					   vma->name ? mf_files_get(a->files, vma->name)->path :
						       MF_WORDS_ANON);
	if (reason != MF_RESYNC_EXEC)
		return mf_accounting_note(a, MF_WORDS_LOST);
	if (!vma->name)
		return context_of_bss(a, vma);
	file = mf_files_get(a->files, vma->name);
	if (!mf_file_is_path(file))
		return mf_accounting_note(a, file->path);
	snprintf(words, sizeof(words), MF_WORDS_EXEC " (in %s)", file->path);
	return mf_accounting_note(a, words);
}

/*
 * Compares the file of @vma, which is in the list of a resync, with the files of the mappings that the profile has from
 * @start to @end. Where they differ, the code there may have changed: records that in a->code.
 */
static void compare_files(struct mf_accounting *a, const struct mf_resync_vma *vma, uint64_t start,
			  uint64_t end)
{
	const struct mf_interval *i;

	for (i = mf_space_next(&a->space, start); i && i->start < end;
	     i = mf_space_next(&a->space, i->end)) {
		/*
		 * Both the interval in the profile and @vma may be just a part of the mapping, and may begin at
		 * different addresses. If file offset minus address is the same for both, they map each address to the
		 * same place in the file.
		 */
		if (i->file != vma->file ||
		    (i->file && i->offset - i->start != vma->offset - vma->start))
			mf_code_unmap(&a->code, i->start, i->end);
	}
}

/*
 * Adds a mapping to the profile to fill the hole @start..@end, which is a part of @vma that the profile lacks. After a
 * fork, the new mapping takes the context of the parent's mapping at @start, if any, and ends at the first boundary of
 * a parent mapping inside the hole; the rest of the hole is left unfilled.
 */
static int fill(struct mf_accounting *a, const struct mf_resync *resync,
		const struct mf_resync_vma *vma, uint64_t start, uint64_t end, uint64_t time_ns)
{
	const struct mf_interval *inherited = mf_space_next(&a->inherited, start);
	struct mf_interval interval = {
		.start = start,
		.end = end,
		.offset = vma->file ? vma->offset + (start - vma->start) : 0,
		.file = vma->file,
	};

	if (inherited && inherited->start <= start) {
		interval.context = inherited->context;
		if (inherited->end < end)
			interval.end = inherited->end;
	} else {
		interval.context = context_of_words(a, resync->reason, vma);
		if (inherited && inherited->start < end)
			interval.end = inherited->start;
	}
	return mf_accounting_map(a, &interval, time_ns);
}

static int apply_vma(struct mf_accounting *a, const struct mf_resync *resync,
		     const struct mf_resync_vma *vma, uint64_t start, uint64_t end,
		     uint64_t time_ns)
{
	uint64_t hole_start, hole_end;
	int code;

	while (mf_space_hole(&a->space, start, end, &hole_start, &hole_end)) {
		code = fill(a, resync, vma, hole_start, hole_end, time_ns);
		if (code)
			return code;
	}
	compare_files(a, vma, start, end);
	return mf_space_set_file(&a->space, start, end, vma->file,
				 vma->file ? vma->offset + (start - vma->start) : 0);
}

static int remove_between(struct mf_accounting *a, uint64_t start, uint64_t end, uint64_t time_ns)
{
	const struct mf_interval *next = mf_space_next(&a->space, start);

	if (start >= end || !next || next->start >= end)
		return 0;
	return mf_accounting_unmap(a, start, end, false, time_ns);
}

/*
 * Placeholder frames, one for each reason for a resync. They are used for pages that turn out to be resident after a
 * resync but whose first touch was not recorded.
 */
static const char *const base_words[] = {
	[MF_RESYNC_EXEC] = MF_WORDS_EXEC,
	[MF_RESYNC_FORK] = MF_WORDS_FORK,
	[MF_RESYNC_LOST] = MF_WORDS_LOST,
	[MF_RESYNC_ATTACH] = MF_WORDS_ATTACH,
};

int mf_resync_apply(struct mf_accounting *a, const struct mf_resync *resync, uint64_t time_ns)
{
	uint64_t at = resync->start & ~PAGE_MASK, limit = resync->end & ~PAGE_MASK;
	int code;

	if (resync->reason == MF_RESYNC_ATTACH || resync->reason == MF_RESYNC_FORK)
		a->taking_over = true;
	/* Unmap first, then map, so that the total never exceeds what was really mapped. */
	for (size_t i = 0; i <= resync->n_vmas; i++) {
		const struct mf_resync_vma *vma = i < resync->n_vmas ? &resync->vmas[i] : NULL;

		code = remove_between(a, at, vma && vma->start < limit ? vma->start : limit,
				      time_ns);
		if (code)
			return code;
		if (vma && vma->end > at)
			at = vma->end;
	}
	for (size_t i = 0; i < resync->n_vmas; i++) {
		const struct mf_resync_vma *vma = &resync->vmas[i];
		uint64_t start = vma->start > resync->start ? vma->start : resync->start;
		uint64_t end = vma->end < limit ? vma->end : limit;

		if (start >= end)
			continue;
		code = apply_vma(a, resync, vma, start, end, time_ns);
		if (code)
			return code;
	}
	if (resync->last) {
		if (a->what != MF_PAGES_VIRTUAL)
			a->resident.base_words = base_words[resync->reason];
		mf_space_deinit(&a->inherited);
		/*
		 * Massif checks once more whether a snapshot is due just before the program executes its first
		 * instruction. Do the same here.
		 */
		if (resync->reason == MF_RESYNC_EXEC)
			mf_model_attempt(&a->store, mf_accounting_time(a, time_ns));
		/* If resident pages are tracked, the BASE record that follows causes the first snapshot. */
		if (a->what == MF_PAGES_VIRTUAL)
			mf_accounting_taken_over(a, time_ns);
	}
	return 0;
}
