// SPDX-License-Identifier: GPL-2.0
// A library that allocates when it is loaded, used and unloaded.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *kept;
static __thread char local[3000];

__attribute__((constructor)) static void come(void)
{
	kept = strdup("loaded");
}

__attribute__((destructor)) static void go(void)
{
	free(kept);
}

uint64_t plug(unsigned int p);

uint64_t plug(unsigned int p)
{
	uint64_t sum = strlen(kept);

	for (unsigned int i = 0; i < 20; i++) {
		char *block = calloc(i + 1, p % 50 + 1);

		memset(local, (int)i, sizeof(local));
		block = realloc(block, 500 + i);
		sum = sum * 31 + (unsigned char)block[0] + (unsigned char)local[p % 3000];
		free(block);
	}
	return sum;
}
