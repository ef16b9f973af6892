/* SPDX-License-Identifier: GPL-2.0 */
/* Opens the file of a descriptor again, with fewer rights. */
#ifndef MASSIF_BASE_REOPEN_H
#define MASSIF_BASE_REOPEN_H

/*
 * Opens the file of the descriptor @fd for reading. The result can be passed to another process, which cannot write to the
 * file with it; the file's permissions must prevent that process from opening the file once more. Returns a descriptor,
 * which the caller closes, or -errno.
 */
int mf_reopen_to_read(int fd);

#endif
