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
	{ "__libc_single_threaded", "whether there are other threads: the program may have a copy of it" },
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
