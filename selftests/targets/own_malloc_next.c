// SPDX-License-Identifier: GPL-2.0
// A program whose malloc and free add a header and call the next definitions (RTLD_NEXT).

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void *malloc(size_t size)
{
	static void *(*next)(size_t size);
	char *block;

	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	block = next(size + 64);
	return block ? block + 64 : NULL;
}

void free(void *block)
{
	static void (*next)(void *block);

	if (!next)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	if (block)
		next((char *)block - 64);
}

int main(void)
{
	for (size_t i = 1; i < 20; i++) {
		void *block = malloc(100 * i);

		__asm__ volatile("" : : "r"(block));
		if (i % 3)
			free(block);
	}
	return 0;
}
