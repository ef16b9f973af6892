/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads a tree from a massif.out file written in pages mode, and computes separate totals for memory mapped by the
 * kernel at exec, memory mapped by ld.so, memory whose stacks reach main, and all other memory.
 */
#ifndef MASSIF_SELFTESTS_PAGES_TREE_H
#define MASSIF_SELFTESTS_PAGES_TREE_H

#include <stdint.h>

struct pages_tree {
	char root[256];	  /* text of the tree's root line */
	uint64_t total;	  /* total of the snapshot in bytes */
	/* bytes mapped by the kernel at exec, for which the tree shows a description instead of a stack */
	uint64_t exec;
	uint64_t loader;  /* bytes mapped by ld.so before the program's own code ran */
	uint64_t in_main; /* bytes with a stack that reaches main */
	/* bytes that @exec, @loader and @in_main do not count, such as those of the tree lines [lost] and [no stack] */
	uint64_t other;
	/*
	 * text of the tree line for the outermost frame of one stack, the one with the most bytes among those counted
	 * in @other
	 */
	char worst[256];
};

/* Reads the tree of the last snapshot in @path that has one. Returns 0, or -1 if there is none. */
int pages_tree_read(const char *path, struct pages_tree *tree);

#endif
