/* SPDX-License-Identifier: GPL-2.0 */
/* Demangles C++ and Rust names. */
#ifndef MASSIF_SYMBOLS_DEMANGLE_H
#define MASSIF_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/* Returns false if mf_demangle() would certainly return NULL. Checks only the first character. */
bool mf_demangle_may(const char *name);

/* Returns the demangled name, to be freed by the caller; NULL if @name is not mangled. */
char *mf_demangle(const char *name);

#endif
