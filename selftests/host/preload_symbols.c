// SPDX-License-Identifier: GPL-2.0
// The shim calls no function that could be defined by the program or by a library that the program preloads.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/*
 * The only symbols that the dynamic linker may bind on the shim's behalf, with the reason for each. They are data
 * symbols, so they are not called.
 */
static const struct {
	const char *name, *reason;
} allowed[] = {
	{ "__libc_stack_end", "where the arguments and the environment are, before libc knows" },
	{ "_r_debug", "the list of objects, and through it libc's own functions" },
	{ "environ", "the program's environment, for PATH" },
	{ "__environ", "the same" },
};

static bool is_allowed(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (!strcmp(allowed[i].name, name))
			return true;
	return false;
}

/*
 * Returns how many of the shim's symbols that @script prints are not on the list of allowed symbols. Symbol versions
 * are ignored.
 */
static size_t others(const char *script)
{
	struct ctl_result result;
	char shim[4096], *line;
	size_t n = 0;

	snprintf(shim, sizeof(shim), "%s/libmassif-preload.so", getenv("MASSIF_BUILD"));
	CTL_RUN(&result, "sh", "-c", script, "sh", shim);
	for (line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
		line[strcspn(line, "@")] = '\0';
		if (is_allowed(line))
			continue;
		fprintf(stderr, "# %s\n", line);
		n++;
	}
	n += strlen(result.err);
	ctl_result_free(&result);
	return n;
}

TEST(undefined)
{
	EXPECT_EQ(0, others("LC_ALL=C nm -D --undefined-only \"$1\" | awk '{ print $NF }'"));
}

/*
 * Checks all symbols that the dynamic linker binds. These include symbols that the shim defines itself, because the
 * dynamic linker binds them to the first definition, which is not necessarily the shim's.
 */
TEST(bound_at_the_start)
{
	EXPECT_EQ(0, others("LC_ALL=C readelf -rW \"$1\" | awk '$3 ~ /^R_/ && $3 !~ /RELATIVE|TPOFF|DTPMOD/ "
			    "{ print $5 }'"));
	EXPECT_LT(0, others("LC_ALL=C readelf -rW \"$1\" | awk '$3 ~ /RELATIVE/ { print $4 }'"));
}

/*
 * Returns how many of the shim's needed symbol versions, or libraries, glibc @most does not have. With one of them, the
 * program does not start.
 */
static size_t newer_than(const char *shim, const char *most)
{
	struct ctl_result result;
	char script[1024];
	size_t n;

	snprintf(script, sizeof(script),
		 "export LC_ALL=C; readelf -VW \"$1\" | sed -n 's/.*Name: GLIBC_\\([0-9.]*\\) .*/\\1/p' | "
		 "while read v; do printf '%%s\\n%s\\n' $v | sort -VC || echo $v; done; "
		 "readelf -dW \"$1\" | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p' | grep -v '^libc\\.so\\|^ld-linux'",
		 most);
	CTL_RUN(&result, "sh", "-c", script, "sh", shim);
	n = strlen(result.out) + strlen(result.err);
	fprintf(stderr, "%s%s", result.out, result.err);
	ctl_result_free(&result);
	return n;
}

TEST(run_with_an_old_c_library)
{
	char shim[4096], ctl[4096];

	snprintf(shim, sizeof(shim), "%s/libmassif-preload.so", getenv("MASSIF_BUILD"));
	snprintf(ctl, sizeof(ctl), "%s/massif-ctl", getenv("MASSIF_BUILD"));
	EXPECT_EQ(0, newer_than(shim, "2.31"));
	/* The check sees what there is: massif-ctl needs newer versions and other libraries. */
	EXPECT_LT(0, newer_than(ctl, "2.31"));
	EXPECT_LT(0, newer_than(shim, "2.1"));
}

TEST(are_no_functions)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		struct ctl_result result;

		CTL_RUN(&result, "sh", "-c",
			"LC_ALL=C readelf --dyn-syms -W $(ldd /bin/true | awk '/libc\\.so|ld-linux/ "
			"{ print $(NF - 1) }') | grep -wE \"OBJECT.* $1(@.*)?\"",
			"sh", allowed[i].name);
		EXPECT_EQ(0, ctl_exit_code(&result)) {
			TH_LOG("%s (%s)", allowed[i].name, allowed[i].reason);
		}
		ctl_result_free(&result);
	}
}

TEST_HARNESS_MAIN
