/* SPDX-License-Identifier: GPL-2.0 */
/* Makes sure that what was printed to standard output has been written. */
#ifndef MASSIF_BASE_STANDARD_OUTPUT_H
#define MASSIF_BASE_STANDARD_OUTPUT_H

#include "base/error.h"

/* Writes what is still in stdout's buffer. Returns 0; -EIO with a message if that, or an earlier write, has failed. */
int mf_standard_output_finish(struct mf_error *err);

#endif
