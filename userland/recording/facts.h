/* SPDX-License-Identifier: GPL-2.0 */
/* What a recording says about a process and its run, apart from the profile. */
#ifndef MASSIF_RECORDING_FACTS_H
#define MASSIF_RECORDING_FACTS_H

#include <stdint.h>

#include "base/bytes.h"

/*
 * The members are 0 or NULL if the recording does not say. A text belongs to whoever filled the structure; if a
 * recording was read, to the recording.
 */
struct mf_facts {
	uint64_t pid, parent;
	const char *name;	 /* last component of the program's path */
	const char *cmd, *desc;	 /* as in struct mf_profile */
	uint64_t time_unit;	 /* enum mf_time_unit */
	uint64_t pages, what;	 /* pages mode (0 or 1), and what it counts (enum mf_pages_what) */
	uint64_t cut_off;	 /* 1: the process was killed, or still ran, when its profile ended */
	uint64_t written_s;	 /* when the recording was written: seconds since 1970 */
	uint64_t took_ms;	 /* how long the process was profiled */
	int64_t end_time;	 /* end of the profile, in the unit of time */
	/* bytes held at the end */
	uint64_t end_heap, end_extra, end_stacks;
	/* number of calls that allocated, freed and reallocated counted blocks; heap mode only */
	uint64_t allocations, frees, reallocations;
	uint64_t lost;		 /* number of events that were lost */
	uint64_t ended;		 /* how the process ended: its status in the format of waitpid(2), plus 1 */
	const char *version;	 /* of massif */
	const char *kernel;	 /* release of the kernel, and the machine's architecture */
	const char *suppressions; /* text of the suppressions that the program contains for LeakSanitizer */
	uint64_t unread_suppressions; /* why there is no such text: enum mf_text_function */
};

void mf_facts_add(struct mf_bytes *bytes, const struct mf_facts *facts);

/* Reads facts. Those with unknown keys, from later versions of massif, are skipped. */
void mf_facts_take(struct mf_cursor *cursor, struct mf_facts *facts);

#endif
