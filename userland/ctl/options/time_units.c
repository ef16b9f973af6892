// SPDX-License-Identifier: GPL-2.0
// Determines which time units this machine can measure.

#include "time_units.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Opens a counter of the instructions that this process executes in user mode. Returns a descriptor or -errno. */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int mf_clock_probe_instructions(struct mf_error *err)
{
	mf_auto_close int fd = open_counter();

	switch (fd) {
	case -ENOENT:
	case -ENODEV:
	case -EOPNOTSUPP:
		return mf_error_set(err, fd,
				    "this machine has no hardware instruction counter (perf_event_open: %s)",
				    strerror(-fd));
	case -EACCES:
	case -EPERM:
		return mf_error_set(err, fd,
				    "no permission to use the hardware instruction counter, see "
				    "/proc/sys/kernel/perf_event_paranoid (perf_event_open: %s)",
				    strerror(-fd));
	}
	if (fd < 0)
		return mf_error_set(err, fd,
				    "no instruction counter is available (perf_event_open: %s)",
				    strerror(-fd));
	return 0;
}

void mf_clock_set_instructions(struct mf_store_header *header)
{
	header->counter_type = PERF_TYPE_HARDWARE;
	header->counter_config = PERF_COUNT_HW_INSTRUCTIONS;
}

int mf_clock_choose_unit(struct mf_options *options, struct mf_error *note, struct mf_error *err)
{
	mf_auto_free char *advice = NULL;
	struct mf_error reason;
	int ret;

	if (options->model.time_unit != MF_TIME_INSTRUCTIONS)
		return 0;
	/* The kernel module's records contain a time but no instruction count. */
	if (mf_options_has_pages(options))
		ret = mf_error_set(&reason, -EOPNOTSUPP, "pages mode does not count instructions");
	else
		ret = mf_clock_probe_instructions(&reason);
	if (!ret)
		return 0;
	if (options->time_unit_given) {
		if (asprintf(&advice, "%s; use --time-unit=ms or --time-unit=B", reason.text) < 0)
			return mf_error_set(err, -ENOMEM, "out of memory");
		mf_options_explain(err, "--time-unit=i", advice);
		return ret;
	}
	options->model.time_unit = MF_TIME_MS;
	mf_error_set(note, 0, "time is in ms, not in instructions: %s", reason.text);
	return 0;
}
