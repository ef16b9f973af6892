// SPDX-License-Identifier: GPL-2.0
// Fuzzes ms_print with damaged and compressed massif.out files, and with other files. An input is a line with options,
// separated by spaces, and the contents of one file.

#include "selftests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>

#include "msprint/failure.h"
#include "msprint/input.h"
#include "msprint/options.h"
#include "msprint/output.h"
#include "msprint/report.h"

#define LINE_MAX_BYTES 60
#define OPTIONS_MAX    4

static struct mf_output out;

static void print(int argc, char **argv, struct mf_failure *failure)
{
	MF_OPTIONS_AUTO options = {};
	MF_INPUT_AUTO input = { .fd = -1 };

	if (!mf_options_parse(&options, argc, argv, failure) && !options.answer &&
	    !mf_input_open(&input, options.path, failure))
		mf_report_print(&options, &input, &out, failure);
}

/* Splits the first line of an input into arguments, from argv[1] on. @line has room for it. Returns their number. */
static int take_options(struct fuzz_input *input, char *line, char **argv)
{
	int n = 0;
	char *rest;

	for (size_t i = 0; i < LINE_MAX_BYTES && input->left; i++) {
		line[i] = (char)fuzz_u8(input);
		line[i + 1] = '\0';
		if (line[i] == '\n')
			break;
	}
	for (char *word = strtok_r(line, " \n", &rest); word && n < OPTIONS_MAX; word = strtok_r(NULL, " \n", &rest))
		if (*word == '-')
			argv[++n] = word;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct mf_failure failure = {}, write_failure = {};
	char line[LINE_MAX_BYTES + 1] = "", path[32];
	char *argv[OPTIONS_MAX + 3] = { "ms_print" };
	int n = take_options(&input, line, argv), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int fd = fuzz_file(input.at, input.left);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	argv[n + 1] = path;
	mf_output_init(&out, nowhere);
	print(n + 2, argv, &failure);
	mf_output_flush(&out, &write_failure);
	fuzz_require(!write_failure.status);
	mf_failure_deinit(&failure);
	mf_failure_deinit(&write_failure);
	close(nowhere);
	close(fd);
	return 0;
}
