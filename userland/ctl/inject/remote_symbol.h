/* SPDX-License-Identifier: GPL-2.0 */
/* Finds functions in an object that another process has mapped, by the symbol table in that process's memory. */
#ifndef MASSIF_CTL_REMOTE_SYMBOL_H
#define MASSIF_CTL_REMOTE_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* An object of process @pid that is mapped at @base; see mf_remote_object_open(). */
struct mf_remote_object {
	pid_t pid;
	uint64_t bias, symbols, names, hash;
	uint64_t code_end; /* of its last segment of code */
	uint32_t n_buckets, first, n_bloom; /* of the hash table, DT_GNU_HASH */
};

/*
 * Returns false if no ELF object of this machine with a hash table begins at @base. The process may have written anything
 * there.
 */
bool mf_remote_object_open(struct mf_remote_object *object, pid_t pid, uint64_t base);

/* Returns the address of the function @name, or 0. */
uint64_t mf_remote_symbol(const struct mf_remote_object *object, const char *name);

/* Returns the address of the variable @name, and its size in bytes, or 0. */
uint64_t mf_remote_variable(const struct mf_remote_object *object, const char *name, uint64_t *size);

#endif
