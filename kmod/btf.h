/* SPDX-License-Identifier: GPL-2.0 */
/* Prototypes of kernel functions, compared with the kernel's type information (BTF). */
#ifndef MASSIF_BTF_H
#define MASSIF_BTF_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stddef.h>
#endif

/*
 * Every hooked function is called with seven words (detour.c), so it may not have more, nor one that does not
 * fit into a register.
 */
#define MASSIF_BTF_WORDS	7

enum massif_btf_verdict {
	MASSIF_BTF_UNKNOWN,	/* BTF has no function of that name */
	MASSIF_BTF_SAME,
	MASSIF_BTF_OTHER,	/* one of that name at least is not as expected */
};

/*
 * One expectation. The name is that of a function, or of a typedef of a pointer to one: btf_trace_NAME is what a
 * probe of tracepoint NAME gets.
 *
 * The prototype is "RESULT(ARGUMENT, ...)", without names. A type is void; bool, int or long, which stand for
 * everything of one, four or eight bytes that is a number; flags, eight bytes that can also be a struct; or "NAME *" and "NAME **", with the name of a struct
 * and without that word; or "*", any pointer. "..." at the end: MASSIF_BTF_WORDS at most in all, of any type that
 * fits into a register.
 */
struct massif_btf_row {
	const char *name;
	const char *prototype;
	enum massif_btf_verdict verdict;
};

/* All of it belongs to the caller, and stays until the last comparison. */
struct massif_btf {
	const unsigned char *types;
	const char *strings;
	__u32 types_size;	/* bytes */
	__u32 strings_size;	/* bytes */
	__u32 count;		/* of types; 0, void, is not one of them */
	const __u32 *offsets;	/* of each in types, in bytes; the first is that of number 1 */
};

/*
 * Reads the head of size bytes of BTF (aligned as a long), and how many types there are: count. 0, or -EINVAL if
 * that is no BTF, or of a kind that is not known here.
 */
int massif_btf_open(struct massif_btf *btf, const void *data, size_t size);

/* After massif_btf_open(). offsets has room for btf->count. */
void massif_btf_index(struct massif_btf *btf, __u32 *offsets);

/* After massif_btf_index(): the verdict of each row. */
void massif_btf_compare(const struct massif_btf *btf, struct massif_btf_row *rows, unsigned int count);

#endif
