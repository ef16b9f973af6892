/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the private memory of a store one that other processes can read, when one of them asks for it. */
#ifndef MASSIF_PAGES_SHARE_H
#define MASSIF_PAGES_SHARE_H

#include "base/error.h"
#include "model/store.h"

/*
 * Moves the contents of @store, which has no file, to a new file, and maps that at the same addresses. *@memory is its
 * descriptor, which the caller closes. Takes a few milliseconds. Returns 0 or -errno; @store is usable in either case.
 */
int mf_share_store(struct mf_store *store, int *memory, struct mf_error *err);

#endif
