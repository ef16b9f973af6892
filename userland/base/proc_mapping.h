/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the mappings of a process from /proc/PID/maps. */
#ifndef MASSIF_BASE_PROC_MAPPING_H
#define MASSIF_BASE_PROC_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* An open listing of a process's mappings. */
struct mf_proc_mappings {
	FILE *file;
	char *line;
	size_t room; /* allocated size of @line, in bytes */
};

struct mf_proc_mapping {
	uint64_t start, end, offset; /* addresses and file offset in bytes */
	uint64_t device;	     /* device of the file: major number << 32 | minor */
	uint64_t inode;
	char rights[5]; /* access rights: "rwxp", or "rwxs" if the mapping is shared */
	char *path;	/* path, a name such as "[heap]", or "" if there is neither; valid until the next call */
};

/*
 * Reads a line of /proc/PID/maps, without its newline; the head of a mapping in /proc/PID/smaps is such a line, too.
 * @mapping->path points into @line. Returns false if @line is another one.
 */
bool mf_proc_mapping_parse(char *line, struct mf_proc_mapping *mapping);

/* Opens the list of mappings of process @pid, or of this process if @pid is 0. Returns 0 or -errno. */
int mf_proc_mappings_open(struct mf_proc_mappings *mappings, pid_t pid);

/* Reads the next mapping, in ascending order of addresses. Returns false at the end or on a read error. */
bool mf_proc_mappings_next(struct mf_proc_mappings *mappings, struct mf_proc_mapping *mapping);

/*
 * Returns whether reading the mappings from /proc failed, because the process has ended or its credentials have
 * changed.
 */
bool mf_proc_mappings_failed(const struct mf_proc_mappings *mappings);

/* Closes a listing. Also accepts an all-zero structure. */
void mf_proc_mappings_close(struct mf_proc_mappings *mappings);

#endif
