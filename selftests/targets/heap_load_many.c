// SPDX-License-Identifier: GPL-2.0
// heap_load_many LIBRARY TIMES: makes TIMES copies of LIBRARY (libheap_requests.so) in the current directory, loads all
// of them, and has each one announce a block of 1,000 bytes through a client request.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define SIZE 1000

/* Never accessed. The blocks that are reported by client requests have addresses in this array. */
static char blocks[1 << 24];

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	int failed = in < 0 || out < 0 || sendfile(out, in, NULL, 1 << 30) <= 0;

	close(in);
	close(out);
	return failed;
}

int main(int argc, char **argv)
{
	void *volatile last;
	long times = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	for (long i = 0; i < times; i++) {
		void (*make)(void *, size_t) = NULL;
		char path[64];
		void *library;

		snprintf(path, sizeof(path), "./massif.out.many.%ld.so", i);
		if (copy(argv[1], path))
			return 2;
		library = dlopen(path, RTLD_NOW);
		if (library)
			make = (void (*)(void *, size_t))dlsym(library, "heap_requests_make");
		if (!make) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		make(blocks + i * 1024, SIZE);
	}
	/* Free a block: massif checks for a peak before the total decreases. */
	last = malloc(1000000);
	free(last);
	return 0;
}
