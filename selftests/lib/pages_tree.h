/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a massif.out of pages mode: how many bytes of a snapshot end where. */
#ifndef SELFTESTS_PAGES_TREE_H
#define SELFTESTS_PAGES_TREE_H

#include <stdint.h>

struct pages_tree {
	char root[256];	  /* the root line's text */
	uint64_t total;	  /* bytes */
	uint64_t exec;	  /* mapped by the kernel to start the program: words, no stack */
	uint64_t loader;  /* mapped by ld.so before it handed over to the program */
	uint64_t in_main; /* under a stack that reaches main */
	uint64_t other;	  /* under any other stack or words */
	char worst[256];  /* text of the end of the biggest one of the other */
};

/* The tree of the last snapshot of @path that has one. Returns 0, or -1 if there is none. */
int pages_tree_read(const char *path, struct pages_tree *tree);

#endif
