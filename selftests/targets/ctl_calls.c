// SPDX-License-Identifier: GPL-2.0
// Calls each C allocation function at least once, then closes standard error and allocates once more.

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Volatile, so that the compiler does not know which function is called. */
static void *(*volatile resize)(void *pointer, size_t size) = realloc;
static void *(*volatile allocate)(size_t size) = malloc;

int main(void)
{
	void *p = allocate(100);

	p = resize(p, 200);
	p = resize(p, 0);
	p = calloc(3, 7);
	free(p);
	free(NULL);
	p = resize(NULL, 10);
	p = resize(p, 5);
	free(p);
	if (posix_memalign(&p, 64, 100))
		return 1;
	free(p);
	p = memalign(32, 50);
	free(p);
	p = aligned_alloc(64, 128);
	free(p);
	p = valloc(10);
	free(p);
	p = strdup("hello");
	free(p);
	p = reallocarray(NULL, 2, 3);
	free(p);
	p = allocate(0);
	free(p);
	close(STDERR_FILENO);
	p = allocate(9);
	free(p);
	return 0;
}
