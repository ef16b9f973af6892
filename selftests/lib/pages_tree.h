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
	/* bytes that @exec, @loader and @in_main do not count, such as those of the tree lines [lost] and [no stack] */
	uint64_t other;
	/* text of the line of the outermost frame of the stack with the most bytes among those that @other counts */
	char worst[256];
};

/* Reads the tree of the last snapshot in @path that has one. Returns 0, or -1 if there is none. */
int pages_tree_read(const char *path, struct pages_tree *tree);

#endif
