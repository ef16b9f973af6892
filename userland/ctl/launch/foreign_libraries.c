// SPDX-License-Identifier: GPL-2.0
// massif-ctl runs without the libraries in LD_PRELOAD.
//
// Such libraries replace functions of the C library, which massif-ctl uses, too. Those of fakeroot and faketime, for example,
// send messages and use shared memory in fstat() and clock_gettime(). The confined processes that read symbol names cannot do
// either (base/confine.c), and would fail.

#include "foreign_libraries.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/own_path.h"

#define PRELOAD "LD_PRELOAD="
/* Keeps the variable while massif-ctl is executed again. It is as long, so that the strings need not be moved. */
#define KEPT	"MASSIF_LDP="

_Static_assert(sizeof(PRELOAD) == sizeof(KEPT), "one variable is renamed to the other in its place");

/* Renames all variables @from. Returns whether there are any. */
static bool rename_all(const char *from, const char *to)
{
	bool found = false;

	for (char **word = environ; word && *word; word++) {
		if (strncmp(*word, from, strlen(from)))
			continue;
		memcpy(*word, to, strlen(to));
		found = true;
	}
	return found;
}

static bool has_libraries(void)
{
	for (char **word = environ; word && *word; word++)
		if (!strncmp(*word, PRELOAD, strlen(PRELOAD)) && (*word)[strlen(PRELOAD)])
			return true;
	return false;
}

/* Returns whether the dynamic linker was executed as a program, with massif-ctl's path as an argument. */
static bool is_started_by_linker(void)
{
	return !getauxval(AT_BASE);
}

void mf_foreign_libraries_leave(char **argv)
{
	char path[PATH_MAX];

	if (rename_all(KEPT, PRELOAD) || !has_libraries() || is_started_by_linker())
		return;
	rename_all(PRELOAD, KEPT);
	/* By its path, because the kernel names the process after it. */
	if (!mf_own_path(path))
		execv(path, argv);
	rename_all(KEPT, PRELOAD);
}
