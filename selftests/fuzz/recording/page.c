// SPDX-License-Identifier: GPL-2.0
// The page that massif-ctl report makes of a recording: part of the fuzzer of recordings.

#include "selftests/fuzz/recording/page.h"

#include "html/data.h"
#include "selftests/fuzz/recording/sink.h"

#define PROCESSES 8u /* so many of a file are in the page */
#define ROOM	  (1u << 17)

/* The data are in a script of the page: nothing in them may end that, or be markup. */
static void check_data(const char *text, size_t size)
{
	struct fuzz_sink sink = { .is_text = true, .is_json = true };
	FILE *out = fuzz_sink_open(&sink);

	fuzz_require(strlen(text) == size && !memchr(text, '<', size) && !memchr(text, '>', size));
	fwrite(text, 1, size, out);
	fuzz_sink_close(&sink, out);
}

void fuzz_page_make(const struct mf_recording *recording, const struct mf_report_options *options, uint8_t flags,
		    uint8_t choice)
{
	size_t n = recording->n_processes < PROCESSES ? recording->n_processes : PROCESSES, size;
	struct mf_html_source source = {
		.sides[MF_HTML_NEW] = { "new", recording->processes, n, recording->damage }, .options = options,
	};
	struct mf_error err;
	char *text;

	if (flags & 8)
		source.sides[MF_HTML_OLD] = (typeof(source.sides[0])){ "old", recording->processes, 1, NULL };
	if (mf_html_data_make(&source, choice & 0x40 ? ROOM : (size_t)choice << 5, &text, &size, &err))
		abort();
	check_data(text, size);
	free(text);
}
