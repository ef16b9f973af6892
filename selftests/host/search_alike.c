// SPDX-License-Identifier: GPL-2.0
// The comparison of a program's runs with and without massif detects every kind of difference. A script stands in for
// massif-ctl and produces one kind of difference at a time.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/*
 * A template for a shell script that stands in for massif-ctl; %s is replaced by a shell command, @harm of the test's
 * variant. The script skips massif-ctl's options up to "--", runs that command, and then execs the program.
 */
#define STAND_IN                                                    \
	"#!/bin/sh\n"                                               \
	"while [ \"$1\" != -- ]; do shift; done\n"                  \
	"shift\n"                                                   \
	"%s\n"                                                      \
	"exec \"$@\"\n"

#define COMMAND "sh -c \"echo said; echo warned >&2; echo text >file; exit 4\""

/* Links the file @name from the build directory into t.build, where alike.sh looks for it. */
static void link_built(const char *name)
{
	const char *build = getenv("MASSIF_BUILD");
	char from[4096], to[4096];

	snprintf(from, sizeof(from), "%s/%s", build ? build : "build", name);
	snprintf(to, sizeof(to), "t.build/%s", name);
	if (symlink(from, to))
		abort();
}

FIXTURE(alike) {
	struct ctl_result result;
};

FIXTURE_SETUP(alike)
{
	if (system("rm -rf t.build") || mkdir("t.build", 0755) || mkdir("t.build/selftests", 0755) ||
	    mkdir("t.build/selftests/search", 0755))
		abort();
	link_built("ms_print");
	link_built("selftests/search/contain");
}

FIXTURE_TEARDOWN(alike)
{
	if (system("rm -rf t.build"))
		abort();
}

FIXTURE_VARIANT(alike) {
	const char *harm, *verdict;
};

#define HARM(name, text, said) FIXTURE_VARIANT_ADD(alike, name) { .harm = (text), .verdict = (said) }

HARM(none, "", "\tequal\t");
HARM(output, "echo more", "\tdiffers\tin: out;");
HARM(error, "echo more >&2", "\tdiffers\tin: err;");
HARM(status, "\"$@\"; exit 5", "\tdiffers\tin: status");
HARM(crash, "kill -SEGV $$", "\tdiffers\tin: status");
HARM(hang, "sleep 100", "\tdiffers\tin: status");
HARM(file_more, "echo text >more", "\tdiffers\tin: tree;");
HARM(file_contents, "\"$@\"; echo more >>file; exit 4", "\tdiffers\tin: tree");
HARM(file_mode, "umask 077", "\tdiffers\tin: tree");
HARM(environment, "export MORE=1", "\tdiffers\tin: end;");
HARM(argument, "set -- \"$@\" more", "\tdiffers\tin: end;");
HARM(descriptor, "exec 7</dev/null", "\tdiffers\tin: end;");
HARM(limit, "ulimit -n 77", "\tdiffers\tin: end;");
HARM(signal, "trap '' USR1", "\tdiffers\tin: end;");
HARM(library, "export LD_PRELOAD=libm.so.6", "\tdiffers\tin: end;");

TEST_F_TIMEOUT(alike, finds, 60)
{
	const char *source = getenv("MASSIF_SRC");
	char script[8192], path[4096];

	snprintf(script, sizeof(script), STAND_IN, variant->harm);
	ctl_write_file("t.build/massif-ctl", script, 0755);
	snprintf(path, sizeof(path), "%s/selftests/search/alike.sh", source ? source : ".");
	snprintf(script, sizeof(script), "MASSIF_BUILD=$PWD/t.build %s -l -t 2 -o default -n test '%s'", path, COMMAND);
	CTL_RUN(&self->result, "sh", "-c", script);
	EXPECT_NE(NULL, strstr(self->result.out, variant->verdict)) {
		TH_LOG("%s: %s%s", variant->harm, self->result.out, self->result.err);
	}
	EXPECT_EQ(!strstr(variant->verdict, "equal"), ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
}

TEST_HARNESS_MAIN
