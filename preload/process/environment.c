// SPDX-License-Identifier: GPL-2.0
// The environment without massif-ctl's variables.
//
// massif-ctl appends two: LD_PRELOAD, a second one where the user has one (the dynamic linker takes the last),
// and MASSIF_SESSION. So all that is the program's own lies as it lies without us: the strings one behind the
// other, from the first argument to the last variable, as programs expect that write their title there.
//
// Behind the array, on the stack, is the kernel's auxiliary vector, which some programs look for there (Go's
// run-time does). It cannot be moved, since the dynamic linker knows where it is: instead of our two words
// there is an entry of it that says nothing.

#include "environment.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "protocol/join.h"

#define PRELOAD "LD_PRELOAD"

/* The initial stack: argc, the arguments, NULL, the environment, NULL, the auxiliary vector. Set by the dynamic
 * linker before any malloc. */
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

/* The place of the last variable @name in the array, or NULL; @n: how many there are. */
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

/* Takes the word at @place out of the array. Its text is cleared: /proc shows it, too. */
static void take_out(char **place)
{
	memset(*place, 0, strlen(*place));
	do
		place[0] = place[1];
	while (*place++);
}

/* Of the shim and what the user wants to have loaded, in one variable, the latter stays. */
static bool shorten(char *value)
{
	char *others = strchr(value, ':');
	size_t length, old = strlen(value);

	if (!others)
		return false;
	length = strlen(others + 1);
	memmove(value, others + 1, length + 1);
	memset(value + length, 0, old - length);
	return true;
}

void mf_environment_clean(void)
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
	if (place && (n > 1 || !shorten(*place + strlen(PRELOAD) + 1))) {
		take_out(place);
		taken++;
	}
	/* Between the array's new end and the vector. */
	gap = (uint64_t *)(end - taken + 1);
	if (taken == 2) {
		gap[0] = AT_IGNORE;
		gap[1] = 0;
	}
}
