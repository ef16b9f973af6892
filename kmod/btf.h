/* SPDX-License-Identifier: GPL-2.0 */
/* Compares prototypes of kernel functions with the kernel's type information (BTF). */
#ifndef MASSIF_BTF_H
#define MASSIF_BTF_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stddef.h>
#endif

/*
 * Hooked functions are called with seven words (detour.c), so none may have more than seven arguments, or an argument
 * that does not fit into a register.
 */
#define MASSIF_BTF_WORDS	7

enum massif_btf_verdict {
	MASSIF_BTF_UNKNOWN,	/* the BTF data describe no function with the expected name */
	MASSIF_BTF_SAME,
	MASSIF_BTF_OTHER,	/* at least one function with the expected name has a different prototype */
};

/*
 * One expected prototype. name is a function, or a typedef of a pointer to a function: btf_trace_NAME is the
 * type of a probe of tracepoint NAME.
 *
 * prototype is "RESULT(ARGUMENT, ...)", without argument names. A type is one of:
 *
 * - void
 * - bool, int, long: any number type of one, four or eight bytes
 * - flags: a number or a struct of eight bytes
 * - "NAME *", "NAME **": a pointer to struct NAME, without the word struct
 * - "*": any pointer
 *
 * "..." at the end stands for any further arguments, each of a type that fits into a register. There may be at most
 * MASSIF_BTF_WORDS arguments in all.
 */
struct massif_btf_row {
	const char *name;
	const char *prototype;
	enum massif_btf_verdict verdict;
};

/*
 * One set of BTF data (BTF is the format in which the kernel describes its types). All memory that the fields point to
 * belongs to the caller, and must stay valid until the last call to massif_btf_compare() with this set.
 */
struct massif_btf {
	const unsigned char *types;
	const char *strings;
	__u32 types_size;	/* size in bytes of the type section, to which types points */
	__u32 strings_size;	/* size in bytes of the string section, to which strings points */
	__u32 count;		/* number of types, not counting type 0, which is void */
	const __u32 *offsets;	/* byte offset of each type in types, starting with type 1 */
};

/**
 * massif_btf_open() - read the header of BTF data and count the types.
 * @btf: all members except offsets are set.
 * @data: BTF data, aligned as a long.
 * @size: size of @data in bytes.
 * Return: 0, or -EINVAL if @data is not BTF, or is BTF of an unknown kind.
 */
int massif_btf_open(struct massif_btf *btf, const void *data, size_t size);

/**
 * massif_btf_index() - fill the array of type offsets, after massif_btf_open().
 * @offsets: room for btf->count values.
 */
void massif_btf_index(struct massif_btf *btf, __u32 *offsets);

/**
 * massif_btf_compare() - for each row, determine whether the kernel's function has the prototype that the row expects.
 * Called after massif_btf_index().
 * @count: number of rows (expected prototypes) in @rows.
 */
void massif_btf_compare(const struct massif_btf *btf, struct massif_btf_row *rows, unsigned int count);

#endif
