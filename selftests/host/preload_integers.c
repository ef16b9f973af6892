// SPDX-License-Identifier: GPL-2.0
// The shim uses integers only. Floating point would set exception flags in the program's state, trap if the
// program has unmasked them, and depend on its rounding mode.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/*
 * Mnemonics of all instructions that use the floating-point state or compute with floating-point numbers.
 * Instructions that move or save whole registers are allowed (fxsave, xsavec, movaps), and so are bit operations
 * like andps.
 */
#define FLOATING                                                                                    \
	"^(v?(add|sub|mul|div|sqrt|rsqrt|rcp|rsqrt14|rcp14|min|max|round|rndscale|hadd|hsub|addsub|dp|" \
	"cmp[a-z_]*|u?comi|fn?m(add|sub)[0-9a-z]*|scalef|getexp|getmant|reduce|range)(ss|sd|ps|pd|sh|ph)|" \
	"v?cvt[a-z0-9]+|v?ldmxcsr|emms|femms|f[a-z0-9]+)$"
#define MOVING "^(fxsave|fxrstor)(64)?$"
/*
 * Floating-point instructions that are allowed because they restore the state that libunwind changes, and are executed
 * only when stacks are verified.
 */
#define RESTORING "^<mf_verify_stack>: f(nst|ld)cw$"

/*
 * Returns the floating-point instructions in @object that are not allowed: one per line, after the name of its
 * function.
 */
static char *floating_functions(struct ctl_result *result, const char *object)
{
	static const char script[] =
		"objdump -d --no-show-raw-insn \"$1\" | awk '"
		"/^[0-9a-f]+ </ { name = $2 }"
		"NF > 1 && /^ *[0-9a-f]+:/ {"
		" instructions++; word = $2;"
		" if (word ~ /^(rep[a-z]*|lock|bnd|notrack|data16|cs|ds)$/) word = $3;"
		" if (word ~ /" FLOATING "/ && word !~ /" MOVING "/ && name \" \" word !~ /" RESTORING "/) print name, word }"
		"END { print instructions > \"/dev/stderr\" }' | sort -u";

	CTL_RUN(result, "sh", "-c", script, "sh", object);
	return result->out;
}

static char object[4096];

TEST(none_in_the_shim)
{
	struct ctl_result result;

	snprintf(object, sizeof(object), "%s/libmassif-preload.so", getenv("MASSIF_BUILD"));
	EXPECT_STREQ("", floating_functions(&result, object));
	/* The number of instructions shows that the disassembly was not empty. */
	EXPECT_LT(10000, atol(result.err));
	ctl_result_free(&result);
}

static volatile double number = 3;
static volatile long double long_number = 5;

__attribute__((noinline)) void some_of_sse(void)
{
	number = number / 7;
}

__attribute__((noinline)) void some_of_x87(void)
{
	long_number = long_number * 7;
}

/* Tests the check itself: it must find the floating-point instructions in this test program. */
TEST(found_where_they_are)
{
	struct ctl_result result;

	some_of_sse();
	some_of_x87();
	snprintf(object, sizeof(object), "%s/selftests/host/preload_integers", getenv("MASSIF_BUILD"));
	floating_functions(&result, object);
	EXPECT_NE(NULL, strstr(result.out, "<some_of_sse>: divsd\n"));
	EXPECT_NE(NULL, strstr(result.out, "<some_of_x87>: fmul"));
	ctl_result_free(&result);
}

TEST_HARNESS_MAIN
