// SPDX-License-Identifier: GPL-2.0
// Implements the functions of massif/massif.h.

#include "massif.h"

#include <limits.h>
#include <string.h>

#include "monitor_command.h"
#include "core/session.h"
#include "event/slowpath.h"

#undef massif_malloc_like
#undef massif_free_like
#undef massif_resize_like
#undef massif_stop
#undef massif_start
#undef massif_snapshot
#undef massif_snapshot_to
#undef massif_is_there

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT void massif_malloc_like(const void *block, size_t size)
{
	const struct mf_registers caller = mf_caller_by(MF_FRAME, MF_FUNCTION_REQUEST);

	mf_slowpath_made(block, size, &caller);
}

EXPORT void massif_free_like(const void *block)
{
	mf_slowpath_free(block, MF_FRAME);
}

EXPORT void massif_resize_like(const void *block, size_t size)
{
	const struct mf_registers caller = mf_caller_by(MF_FRAME, MF_FUNCTION_REQUEST);

	mf_slowpath_resized(block, size, &caller);
}

EXPORT void massif_stop(void)
{
	mf_session_count(false);
}

EXPORT void massif_start(void)
{
	mf_session_count(true);
}

EXPORT void massif_snapshot(void)
{
	mf_slowpath_snapshot();
}

EXPORT int massif_snapshot_to(const char *file)
{
	return mf_command_snapshot(file) ? -1 : 0;
}

EXPORT int massif_is_there(void)
{
	return mf_session_is_active();
}
