/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data of a page: one JSON object with the profiles of all processes.
 *
 *	strings, calls	texts; calls as quintuples: numbers of the texts of function, file and library, the line, and the kind
 *			of call (enum mf_html_call_kind)
 *	sides		one or two lists of processes: the newer file first
 *	hidden		for each side, the processes that are left out, and how large the largest of their peaks is
 *
 * A process has
 *	time, heap, extra, stacks	a number for each snapshot
 *	numbers		the number of each snapshot in the recording, if some are left out
 *	depth, call	for each node of its tree how many nodes are above it, and the number of its call; -1: it stands
 *			for others; -2 - N: for thread N. A node comes after its parent and before the parent's next sibling.
 *	others		how many stacks each node with call -1 stands for
 *	sites		the sites of these stacks, as numbers of calls; the last is -1 if it stands for the rest of them
 *	rest		how many sites are the rest
 *	moments		for each snapshot that has a tree: its number, and pairs of a node and its own bytes, if these
 *			differ from those in the moment before. Nodes are numbered from 0; instead of the number stands its
 *			distance from that of the pair before, or from -1. Numbers after those of the nodes are sites: the
 *			values of stacks without a node of their own are there once more.
 *	counts		for each node that has any, in the same way: its allocations, their bytes, temporary blocks, blocks
 *			live at the end
 *	temporary_others	which blocks are temporary, if the user has chosen this: those during whose life their thread
 *			allocated at most so many others
 *	runtime		in recordings of heap mode: for each node that has any, in the same way, which bytes of the end the
 *			C and C++ libraries keep; runtime_blocks: how many blocks these are
 *	sizes		for each class of sizes how many blocks were allocated, and their bytes
 *	block_sizes, lifetimes	for each class of sizes or lifetimes that has blocks: its number, and how many each node has,
 *			as in moments
 *	details_lost	how many blocks are not among these
 *	threads		the ID and the name of each thread
 *	thread_totals	if stacks are not told apart by threads: for each its ID and name, and what it has allocated: blocks,
 *			bytes, temporary blocks
 *	residency	samples of the resident set: peak_rss, the kernel's figure; time (in ms), took (in us), mapped, swapped,
 *			pss, huge, untouched and heap_swapped, each a number for each sample; bands: for each band its key, its
 *			words and a number for each sample; details: the sample with the largest resident set, and the last
 *			one, each with these numbers, with the bytes of pages by how full they are (enum mf_filling), and with
 *			live_sites, untouched_sites and pinned_sites: the nodes' bytes of live blocks, of those parts of them
 *			that are on pages never touched, and of the free memory that they keep, as values; moments: other
 *			samples in the order of time, samples each with these numbers, and live_sites, untouched_sites and
 *			pinned_sites for each a list of changes, as in moments; hidden says how many are left out
 *			If massif.ko was used, each of these samples has touched: triples of the number of a band (live stands
 *			for all of the allocator), the number of a call (-1: other sites), and the bytes there that this site
 *			touched first
 *
 * Numbers that JavaScript would round are strings.
 */
#ifndef MASSIF_HTML_DATA_H
#define MASSIF_HTML_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "recording/reader.h"
#include "report/options.h"

/* More processes than this are not listed one by one. */
#define MF_HTML_PROCESSES_MAX 1000u

enum { MF_HTML_NEW, MF_HTML_OLD, MF_HTML_SIDES };

/* What a page shows. */
struct mf_html_source {
	struct {
		const char *file; /* the name of the file; NULL: there is no such side */
		struct mf_recorded *const *processes;
		size_t n;
		const char *damage; /* why a part of the file could not be read, or NULL */
	} sides[MF_HTML_SIDES];
	const struct mf_report_options *options;
};

/*
 * Returns the data, in at most @size_max bytes, in @text, which the caller frees. What does not fit is added up, and its
 * number is in the data. Returns 0, -ENOMEM or another -errno with a message.
 */
int mf_html_data_make(const struct mf_html_source *source, size_t size_max, char **text, size_t *size,
		      struct mf_error *err);

#endif
