// SPDX-License-Identifier: GPL-2.0
// Writes a page: what web/ contains, around the data.

#include "html/page.h"

#include "base/cleanup.h"
#include "report/massif_file.h"

/*
 * The page before and after the data, which web/assemble.sh makes. The assembler reads them, because for C they would
 * have to be made into arrays of numbers first.
 */
asm(".pushsection .rodata\n"
    "page_head: .incbin \"" MF_HTML_WEB "/head.html\"\n"
    "page_head_end:\n"
    "page_tail: .incbin \"" MF_HTML_WEB "/tail.html\"\n"
    "page_tail_end:\n"
    ".popsection\n");

extern const char page_head[], page_head_end[], page_tail[], page_tail_end[];

int mf_html_page_write(FILE *out, const struct mf_html_source *source, struct mf_error *err)
{
	size_t head = (size_t)(page_head_end - page_head), tail = (size_t)(page_tail_end - page_tail), size;
	mf_auto_free char *data = NULL;
	int code = mf_html_data_make(source, MF_HTML_PAGE_MAX - head - tail, &data, &size, err);

	if (code)
		return code;
	fwrite(page_head, 1, head, out);
	fwrite(data, 1, size, out);
	fwrite(page_tail, 1, tail, out);
	return mf_massif_file_end(out, err);
}
