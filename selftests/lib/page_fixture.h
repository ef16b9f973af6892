/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests that open a page of massif-ctl report in a browser. Its struct begins with PAGE_MEMBERS; the files of a
 * test begin with "massif.", "out." or "made.".
 */
#ifndef MASSIF_SELFTESTS_PAGE_FIXTURE_H
#define MASSIF_SELFTESTS_PAGE_FIXTURE_H

#include "selftests/lib/browser.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define PAGE_MEMBERS		   \
	struct ctl_result result;  \
	struct browser browser

#define PAGE_REMOVE_FILES() do {	\
	ctl_remove_files("massif.");	\
	ctl_remove_files("out.");	\
	ctl_remove_files("made.");	\
} while (0)

/* The last statement of FIXTURE_SETUP. */
#define PAGE_SET_UP() do {						\
	const char *why_not = browser_why_not();			\
									\
	if (why_not)							\
		SKIP(return, "%s", why_not);				\
	PAGE_REMOVE_FILES();						\
	ASSERT_TRUE(browser_start(&self->browser, "browser.home"));	\
} while (0)

/* In FIXTURE_TEARDOWN. A complaint of the browser is a failure of the test. */
#define PAGE_TEAR_DOWN() do {						\
	EXPECT_EQ(0, self->browser.complaints) {			\
		TH_LOG("the browser says %s", self->browser.complaint);	\
	}								\
	browser_stop(&self->browser);					\
	PAGE_REMOVE_FILES();						\
	RUN("rm", "-rf", "browser.home");				\
	ctl_result_free(&self->result);					\
} while (0)

/* Runs a program; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

/* What an expression is in the page, as text. */
#define EVAL(...) browser_eval(&self->browser, __VA_ARGS__)

/* Opens the file @path with the fragment, in a window of @width. Returns how many milliseconds that has taken, or -1. */
#define open_page(self, path, fragment, width) browser_open_file(&(self)->browser, path, fragment, width)

#endif
