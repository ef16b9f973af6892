/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parses the lines of a massif.out file:
 *
 *	desc: <options>			any number of these lines, or none
 *	cmd: <program and arguments>
 *	time_unit: <i, ms or B>
 *	then for each snapshot
 *	snapshot=<number>
 *	time=<time>
 *	mem_heap_B=<bytes>
 *	mem_heap_extra_B=<bytes>
 *	mem_stacks_B=<bytes>
 *	heap_tree=<empty, detailed or peak>
 *	then, unless empty, the lines of a tree, each followed by its children
 *	n<children>: <bytes> <description>
 */
#ifndef MASSIF_MSPRINT_SYNTAX_H
#define MASSIF_MSPRINT_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "input.h"
#include "number.h"
#include "text.h"

struct mf_failure;

struct mf_header {
	struct mf_text desc;	/* the text of all desc lines, including their newlines */
	struct mf_text command;
	struct mf_text time_unit;
};

enum mf_field {
	MF_FIELD_SNAPSHOT,
	MF_FIELD_TIME,
	MF_FIELD_HEAP,
	MF_FIELD_EXTRA,
	MF_FIELD_STACKS,
	MF_FIELD_TREE,
	MF_FIELDS
};

/* A snapshot's fields, as they appear in the file. */
struct mf_record {
	struct mf_text fields[MF_FIELDS];
	bool has_tree;
	bool is_peak;
};

struct mf_node {
	uint64_t children;	/* number of children; UINT64_MAX also stands for larger numbers */
	struct mf_number bytes;
	const char *digits;	/* the number of bytes, as written in the line */
	size_t digits_len;
	const char *details;	/* the node's description: the rest of the line after the bytes */
	size_t details_len;
};

#define MF_HEADER_AUTO __attribute__((cleanup(mf_syntax_header_deinit))) struct mf_header
#define MF_RECORD_AUTO __attribute__((cleanup(mf_syntax_record_deinit))) struct mf_record

int mf_syntax_header_read(struct mf_input *input, struct mf_header *header,
			  struct mf_failure *failure);
void mf_syntax_header_deinit(struct mf_header *header);

/*
 * Reads a snapshot without its tree, which comes next in the input. Returns 1, or 0 at the end of the file, or -EINVAL
 * with @failure set.
 */
int mf_syntax_record_read(struct mf_input *input, struct mf_record *record,
			  struct mf_failure *failure);
void mf_syntax_record_deinit(struct mf_record *record);

/* Returns heap + extra + stacks, in bytes. */
struct mf_number mf_syntax_record_total(const struct mf_record *record);

/*
 * Reads a line of a tree. @total: total bytes of its snapshot, which no node may exceed. The texts in @node are valid
 * until the next line is read. Returns 0, or -EINVAL with @failure set.
 */
int mf_syntax_node_read(struct mf_input *input, struct mf_number total, struct mf_node *node,
			struct mf_failure *failure);

#endif
