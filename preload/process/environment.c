// SPDX-License-Identifier: GPL-2.0
// Removes massif-ctl's variables from the environment.
//
// massif-ctl appends two variables: LD_PRELOAD (a second one if the user has set it; the dynamic linker uses the last)
// and MASSIF_SESSION. So the program's own strings are laid out as they would be without massif: contiguously from the
// first argument to the last variable, as programs that write their title there expect.
//
// On the stack, the array of pointers to the variables is followed by the kernel's auxiliary vector, and some programs
// (those written in Go, for example) look for the vector right after the array. The vector cannot be moved, because the
// dynamic linker has already stored its address. So the two words freed at the end of the array are turned into a
// vector entry that readers ignore.

#include "environment.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "library_list.h"
#include "protocol/join.h"

#define PRELOAD "LD_PRELOAD"

/*
 * The initial stack: argc, arguments, NULL, environment, NULL, auxiliary vector. Set by the dynamic linker before the
 * first malloc.
 */
extern void *__libc_stack_end;

char **mf_environment(void)
{
	long argc = *(long *)__libc_stack_end;

	return (char **)__libc_stack_end + 1 + argc + 1;
}

static bool is_variable(const char *word, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && word[length] == '=';
}

/*
 * Returns the array element of the last variable named @name, or NULL if there is none. Sets *@n to the number of
 * variables with this name.
 */
static char **place_of(const char *name, unsigned int *n)
{
	char **last = NULL;

	*n = 0;
	for (char **at = mf_environment(); *at; at++) {
		if (!is_variable(*at, name))
			continue;
		last = at;
		++*n;
	}
	return last;
}

char *mf_environment_find(const char *name)
{
	unsigned int n;
	char **place = place_of(name, &n);

	return place ? *place + strlen(name) + 1 : NULL;
}

/* Removes an element from the array, and clears its text, which would otherwise still appear in /proc/PID/environ. */
static void take_out(char **place)
{
	memset(*place, 0, strlen(*place));
	do
		place[0] = place[1];
	while (*place++);
}

/*
 * Removes the shim from the list of libraries in @value, and keeps the user's own. Returns false if no library is left.
 */
static bool shorten(char *value, const char *shim)
{
	char *own = mf_library_list_find(value, shim);

	if (!strcmp(value, shim))
		return false;
	if (own)
		mf_library_list_remove(value, own);
	return true;
}

void mf_environment_clean(const char *shim)
{
	char **end = mf_environment(), **place;
	unsigned int n, taken = 0;
	uint64_t *gap;

	while (*end)
		end++;
	place = place_of(MF_JOIN_VARIABLE, &n);
	if (place) {
		take_out(place);
		taken++;
	}
	place = place_of(PRELOAD, &n);
	if (place && (n > 1 || !shorten(*place + strlen(PRELOAD) + 1, shim))) {
		take_out(place);
		taken++;
	}
	/*
	 * The array of variables has shrunk. @gap points to the words between its new end and the auxiliary vector,
	 * which are now unused.
	 */
	gap = (uint64_t *)(end - taken + 1);
	if (taken == 2) {
		gap[0] = AT_IGNORE;
		gap[1] = 0;
	}
}
