/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks up functions in a program whose C library is older than glibc 2.34. There, dlsym() is in libdl.so.2, which the
 * program may not have loaded, and which the shim does not load.
 *
 * _dl_find_object(), which finds unwind tables, exists since glibc 2.35; for older versions see stack/eh_frame.h.
 */
#ifndef MASSIF_PRELOAD_OLD_LIBC_H
#define MASSIF_PRELOAD_OLD_LIBC_H

#include <stdbool.h>

#include "session.h"

/*
 * Returns the first definition of the function @symbol, in its default version, outside the shim: in the order of the
 * dynamic linker's search if @from_executable is true, otherwise without the executable. NULL if there is none.
 * Context: takes the dynamic linker's lock, so never call this for an allocation other than the first.
 */
void *mf_old_libc_find(const char *symbol, bool from_executable);

#endif
