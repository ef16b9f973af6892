// SPDX-License-Identifier: GPL-2.0
// ms_print: prints a massif.out file as a graph, a table and trees.

#include <unistd.h>

#include "failure.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "report.h"

static struct mf_output out;

static int run(int argc, char **argv, struct mf_failure *failure)
{
	MF_OPTIONS_AUTO options = {};
	MF_INPUT_AUTO input = { .fd = -1 };
	int ret;

	ret = mf_options_parse(&options, argc, argv, failure);
	if (!ret && options.answer) {
		mf_output_string(&out, options.answer);
		return 0;
	}
	if (!ret)
		ret = mf_input_open(&input, options.path, failure);
	if (!ret)
		ret = mf_report_print(&options, &input, &out, failure);
	return ret;
}

/* Writes the message to standard error. If that fails, nothing more can be done. */
static void complain(const struct mf_failure *failure)
{
	const char *at = failure->words.data;
	size_t left = failure->words.len;
	ssize_t done;

	for (; left; at += done, left -= done) {
		done = write(STDERR_FILENO, at, left);
		if (done <= 0)
			break;
	}
}

int main(int argc, char **argv)
{
	struct mf_failure failure = {};
	struct mf_failure write_failure = {};
	int status;

	mf_output_init(&out, STDOUT_FILENO);
	run(argc, argv, &failure);
	/* Write what was printed before the error, if any. If that fails as well, report only the first error. */
	mf_output_flush(&out, &write_failure);
	complain(failure.status ? &failure : &write_failure);
	status = failure.status ?: write_failure.status;
	mf_failure_deinit(&failure);
	mf_failure_deinit(&write_failure);
	return status;
}
