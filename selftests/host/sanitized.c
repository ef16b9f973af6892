// SPDX-License-Identifier: GPL-2.0
// Runs tests of massif-ctl's library that are built with AddressSanitizer and UBSan. `make check' builds them; `make
// check-sanitize' runs more tests in this way, and some with ThreadSanitizer.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(sanitized)
{
	struct ctl_result result;
};

FIXTURE_SETUP(sanitized)
{
}

FIXTURE_TEARDOWN(sanitized)
{
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(sanitized)
{
	const char *test;
};

#define SANITIZED(name) FIXTURE_VARIANT_ADD(sanitized, name) { .test = #name }

/* Must match the list SANITIZED_units in selftests/build.mk. */
SANITIZED(ctl_outfile);
SANITIZED(ctl_top);
SANITIZED(kmod_btf);
SANITIZED(model_details);
SANITIZED(model_heap);
SANITIZED(model_ledger);
SANITIZED(model_log);
SANITIZED(model_snapshots);
SANITIZED(model_store);
SANITIZED(model_trie);
SANITIZED(pages_accounting);
SANITIZED(pages_cfi);
SANITIZED(pages_ring);
SANITIZED(pages_space);
SANITIZED(pages_stream);
SANITIZED(recording_file);
SANITIZED(recording_mutants);
SANITIZED(recording_section);
SANITIZED(report_filter);
SANITIZED(report_tree);
SANITIZED(symbols_namefile);
SANITIZED(symbols_symtab);

TEST_F_TIMEOUT(sanitized, passes, 900)
{
	const char *build = getenv("MASSIF_BUILD");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sanitize/unit/selftests/host/%s", build, variant->test);
	if (access(path, X_OK))
		SKIP(return, "it was not built with sanitizers: make check does");
	setenv("UBSAN_OPTIONS", "print_stacktrace=1", 1);
	CTL_RUN(&self->result, path);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s\n%s", self->result.out, self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.out, "\n# PASSED: "));
	EXPECT_EQ(NULL, strstr(self->result.err, "runtime error: "));
	EXPECT_EQ(NULL, strstr(self->result.err, "Sanitizer"));
}

TEST_HARNESS_MAIN
