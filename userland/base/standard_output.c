// SPDX-License-Identifier: GPL-2.0
// Makes sure that what was printed to standard output has been written.

#include "base/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int mf_standard_output_finish(struct mf_error *err)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	/* If only an earlier write has failed, its reason is not known any more. */
	return mf_error_set(err, -EIO, "cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
}
