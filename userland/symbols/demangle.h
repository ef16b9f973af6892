/* SPDX-License-Identifier: GPL-2.0 */
/* C++ and Rust names as people write them. */
#ifndef MASSIF_SYMBOLS_DEMANGLE_H
#define MASSIF_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/* False: mf_demangle() would return NULL. Looks at one letter. */
bool mf_demangle_may(const char *name);

/* To be released with free(); NULL if @name is not a mangled one. */
char *mf_demangle(const char *name);

#endif
