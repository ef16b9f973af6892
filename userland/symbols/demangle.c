// SPDX-License-Identifier: GPL-2.0
// C++ and Rust names as people write them, by libiberty.

#include "symbols/demangle.h"

#include <stddef.h>

#include <libiberty/demangle.h>

bool mf_demangle_may(const char *name)
{
	/* Whatever is not mangled in these languages starts otherwise; most names of C do. */
	return name[0] == '_';
}

char *mf_demangle(const char *name)
{
	if (!mf_demangle_may(name))
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
