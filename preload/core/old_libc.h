/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other ways to what glibc offers only since version 2.34, without libraries that the program has not loaded.
 *
 * For the unwind tables, which newer versions find with _dl_find_object(), see stack/eh_frame.h.
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
