/* SPDX-License-Identifier: GPL-2.0 */
/* The distinct calls of all stacks in a page, and their texts, each of which is in the page once. Zero-initialise it. */
#ifndef MASSIF_HTML_CALLS_H
#define MASSIF_HTML_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "report/index.h"
#include "report/moment.h"
#include "symbols/arena.h"

/* Longer names are cut, and end with the number of bytes that are left out. */
#define MF_HTML_NAME_MAX 16384u

/* Texts with numbers from 0. */
struct mf_html_texts {
	const char **list;
	size_t count, room;
	struct mf_index index;
	struct mf_arena arena;
};

/* Returns the number of @text, or UINT32_MAX if out of memory. */
uint32_t mf_html_texts_number(struct mf_html_texts *texts, const char *text);

/* What matters for which call of a stack is its site; see report/standard.h. */
enum mf_html_call_kind {
	MF_HTML_CALL_PLAIN,
	MF_HTML_CALL_STANDARD, /* of the standard library of C++ or Rust */
	MF_HTML_CALL_C,	       /* of the C library */
	MF_HTML_CALL_NOTE,     /* no call, but a text in its place */
};

struct mf_html_call {
	uint32_t function, file, object; /* numbers of texts; text 0 is the empty one, which stands for an unknown one */
	uint32_t line;
	enum mf_html_call_kind kind;
	uint32_t printed; /* number in the page, plus 1; 0: it is not in the page */
};

struct mf_html_calls {
	struct mf_html_texts texts;
	struct mf_html_texts keys; /* a text for each call, which is made of the numbers above */
	struct mf_html_call *list;
	size_t room;
	uint32_t n_printed;
	struct mf_bytes text; /* the text that is being made */
};

/* Returns the number of @call, whose address does not count, or UINT32_MAX if out of memory. */
uint32_t mf_html_calls_number(struct mf_html_calls *calls, const struct mf_call *call,
			      const struct mf_report_options *options);

/* Returns the number in the page of call @number, which is added to the page. */
uint32_t mf_html_calls_use(struct mf_html_calls *calls, uint32_t number);

/* Forgets which calls are in the page. */
void mf_html_calls_restart(struct mf_html_calls *calls);

/* Prints the calls that are in the page as the members "strings" and "calls" of an object. */
int mf_html_calls_print(const struct mf_html_calls *calls, FILE *out, struct mf_error *err);

void mf_html_calls_deinit(struct mf_html_calls *calls);

#endif
