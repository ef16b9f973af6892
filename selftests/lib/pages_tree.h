/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads a tree of a massif.out file of pages mode, and adds up separately the bytes of stacks from ld.so, of stacks
 * from main, and of all other stacks.
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
	uint64_t other;	  /* bytes with any other stack, or with another description instead of a stack */
	/* Of the stacks counted in @other, the one with the most bytes: the text of its last line in the tree */
	char worst[256];
};

/* Reads the tree of the last snapshot in @path that has one. Returns 0, or -1 if there is none. */
int pages_tree_read(const char *path, struct pages_tree *tree);

#endif
