// SPDX-License-Identifier: GPL-2.0
// Demangles C++ and Rust names, with libiberty.

#include "symbols/demangle.h"

#include <stddef.h>

#include <libiberty/demangle.h>

bool mf_demangle_may(const char *name)
{
	/* All mangled names begin with an underscore; most C names do not. */
	return name[0] == '_';
}

char *mf_demangle(const char *name)
{
	if (!mf_demangle_may(name))
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
