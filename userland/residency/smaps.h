/* SPDX-License-Identifier: GPL-2.0 */
/* Reads from /proc/PID/smaps how much of each mapping of a process is resident. */
#ifndef MASSIF_RESIDENCY_SMAPS_H
#define MASSIF_RESIDENCY_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc_mapping.h"

/* Sizes of a mapping, in bytes. A size that this kernel does not print is 0. */
struct mf_smaps_sizes {
	uint64_t rss;	    /* resident pages */
	uint64_t pss;	    /* the same, each page divided by the number of processes that have it mapped */
	uint64_t anonymous; /* resident pages that belong to no file: private memory, or copies of a file's pages */
	uint64_t shared;    /* resident pages that other processes have mapped, too */
	uint64_t swap;	    /* pages that are swapped out */
	uint64_t huge;	    /* resident in huge pages */
};

struct mf_smaps_mapping {
	struct mf_proc_mapping map;
	struct mf_smaps_sizes sizes;
};

/* An open listing. */
struct mf_smaps {
	int fd;
	char *text;	   /* what has been read and not been used yet */
	size_t at, n, room; /* the next line in @text, the end of it, and the size of its memory */
	char *head;	   /* the head of the mapping returned last */
	size_t head_room;
};

/* Opens the listing of process @pid. Returns 0 or -errno; -EACCES if the process may not be observed. */
int mf_smaps_open(struct mf_smaps *smaps, pid_t pid);

/*
 * Reads the next mapping, in ascending order of addresses. Its path is valid until the next call. Returns false at the
 * end, or if reading fails because the process has ended.
 */
bool mf_smaps_next(struct mf_smaps *smaps, struct mf_smaps_mapping *mapping);

/* Closes a listing. */
void mf_smaps_close(struct mf_smaps *smaps);

#endif
