// SPDX-License-Identifier: GPL-2.0
// Allocates, resizes and frees, and prints how many bytes the remaining blocks take in glibc's allocator: the
// usable size plus a header of one word, or of two words for a block in its own mapping.

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 400

static size_t taken(void *block)
{
	size_t usable = malloc_usable_size(block);
	bool mapping = (uintptr_t)block % 4096 == 16 && (usable + 16) % 4096 == 0;

	return usable + (mapping ? 16 : 8);
}

int main(void)
{
	static void *blocks[N];
	size_t total = 0;
	char line[32];
	int length;

	for (int i = 0; i < N; i++)
		blocks[i] = malloc((size_t)i * 37 % 5000 + (i % 50 ? 0 : 300000));
	for (int i = 0; i < N; i += 3)
		blocks[i] = realloc(blocks[i], (size_t)i * 91 % 7000 + 1);
	for (int i = 0; i < N; i += 7) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	for (int i = 0; i < N; i++)
		if (blocks[i])
			total += taken(blocks[i]);
	/* Avoid stdio, whose buffer would be another block. */
	length = snprintf(line, sizeof(line), "%zu\n", total);
	return write(STDOUT_FILENO, line, (size_t)length) != length;
}
