// SPDX-License-Identifier: GPL-2.0
// Inspects the initial stack, as do programs that write their title there or that look for the auxiliary vector
// after the environment. Then overwrites the environment strings and continues.

#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/*
 * Returns the length of the contiguous range of memory that begins at @first and consists of the strings that @words
 * points to, each directly after the previous one.
 */
static size_t extent(const char *first, char **words, size_t *n)
{
	const char *end = first;

	for (*n = 0; words[*n] && words[*n] == end; ++*n)
		end += strlen(end) + 1;
	return (size_t)(end - first);
}

/*
 * Checks that the auxiliary vector is terminated and has the same entries as libc's copy. @words is the array of
 * pointers to the environment's strings. The auxiliary vector follows the NULL that terminates this array.
 */
static void look_behind(char **words)
{
	const ElfW(auxv_t) *entry;
	unsigned int n = 0;

	while (*words)
		words++;
	for (entry = (const void *)(words + 1); entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_IGNORE)
			continue;
		n++;
		if (getauxval(entry->a_type) != entry->a_un.a_val)
			printf("entry %lu differs\n", (unsigned long)entry->a_type);
	}
	printf("%u entries\n", n);
}

int main(int argc, char **argv)
{
	size_t bytes, n_arguments, n_variables = 0, n;
	const char *preload = getenv("LD_PRELOAD");

	bytes = extent(argv[0], argv, &n_arguments);
	printf("%zu arguments of %d, %zu bytes\n", n_arguments, argc, bytes);
	while (environ[n_variables])
		n_variables++;
	bytes = extent(argv[0] + bytes, environ, &n);
	printf("%zu variables of %zu, %zu bytes, LD_PRELOAD %s\n", n, n_variables, bytes, preload ? preload : "none");
	for (size_t i = 0; i < n_variables; i++)
		printf("%s\n", environ[i]);
	look_behind(environ);
	memset(environ[0], 'x', bytes - 1);
	environ[0] = NULL;
	for (size_t i = 0; i < 10000; i++)
		free(malloc(i));
	return 0;
}
