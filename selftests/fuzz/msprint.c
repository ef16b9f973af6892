// SPDX-License-Identifier: GPL-2.0
// Fuzzes ms_print with damaged and compressed massif.out files, and with other files. Each input is the contents of one
// file.

#include "selftests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>

#include "msprint/failure.h"
#include "msprint/input.h"
#include "msprint/options.h"
#include "msprint/output.h"
#include "msprint/report.h"

static struct mf_output out;

static void print(int argc, char **argv, struct mf_failure *failure)
{
	MF_OPTIONS_AUTO options = {};
	MF_INPUT_AUTO input = { .fd = -1 };

	if (!mf_options_parse(&options, argc, argv, failure) && !mf_input_open(&input, options.path, failure))
		mf_report_print(&options, &input, &out, failure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct mf_failure failure = {}, write_failure = {};
	char path[32];
	char *argv[] = { "ms_print", path, NULL };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mf_output_init(&out, nowhere);
	print(2, argv, &failure);
	mf_output_flush(&out, &write_failure);
	fuzz_require(!write_failure.status);
	mf_failure_deinit(&failure);
	mf_failure_deinit(&write_failure);
	close(nowhere);
	close(fd);
	return 0;
}
