/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One sample of the resident set of a process.
 *
 * A sample reads /proc/PID/smaps, /proc/PID/pagemap and the table of live blocks, one after the other, while the process
 * runs. So what the program changes meanwhile can be in one and not in the other; a sample says how long it took. The sum of
 * its bands is the sum of the resident sizes in smaps.
 */
#ifndef MASSIF_RESIDENCY_SAMPLE_H
#define MASSIF_RESIDENCY_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "profile/residency.h"
#include "residency/heap_pages.h"
#include "residency/thread_stacks.h"
#include "residency/touched.h"

/* Results of the last sample of a process that its next sample needs, or that save work. Zero-initialise it. */
struct mf_sample_memory {
	struct mf_thread_stacks stacks;
	struct mf_heap_pages pages;
};

/*
 * Takes a sample of process @pid, whose live blocks are in @store, which is in the file @memory (0: it is not in a file).
 * @earlier has what earlier samples of the process have found. @touches knows who touched the pages first; NULL: nothing
 * does.
 * Of the result, the caller fills in the times and the reasons. It releases @detail by mf_residency_detail_deinit(), also
 * after an error. Returns 0 or -errno: -ESRCH or -ENOENT if the process has ended, -EACCES
 * if it may not be observed, -EAGAIN if it has executed another program or has not mapped @memory yet.
 */
int mf_sample_take(pid_t pid, const struct mf_store *store, int memory, struct mf_sample_memory *earlier,
		   const struct mf_touch_source *touches, struct mf_residency_detail *detail, struct mf_error *err);

void mf_sample_memory_deinit(struct mf_sample_memory *earlier);

#endif
