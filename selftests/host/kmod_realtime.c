// SPDX-License-Identifier: GPL-2.0
// The module cannot be built for a kernel with PREEMPT_RT: make fails with a single line that says so.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

/*
 * Runs make on the module's Kbuild, as the kernel's build would. Returns whether it fails with a message
 * containing @words.
 */
static bool is_refused(const char *words)
{
	char command[8192], line[512];
	bool refused = false;
	FILE *make;

	snprintf(command, sizeof(command),
		 "LC_ALL=C make -C '%s' -s -n -f Kbuild src=. objtree=. CONFIG_X86_64=y %s nothing 2>&1",
		 getenv("MASSIF_SRC"), words);
	make = popen(command, "r");
	if (!make)
		return false;
	while (fgets(line, sizeof(line), make))
		refused |= strstr(line, "*** massif: this kernel has PREEMPT_RT, which the module does not support") != NULL;
	pclose(make);
	return refused;
}

TEST(the_build_says_so)
{
	EXPECT_FALSE(is_refused(""));
	EXPECT_TRUE(is_refused("CONFIG_PREEMPT_RT=y"));
	EXPECT_FALSE(is_refused("CONFIG_PREEMPT_RT=y MASSIF_PREEMPT_RT=build"));
}

TEST_HARNESS_MAIN
