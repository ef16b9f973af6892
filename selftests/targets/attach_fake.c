// SPDX-License-Identifier: GPL-2.0
// A statically linked program that maps the files that its arguments name, each as a whole and as code, and waits.

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct stat status;

		if (fd < 0 || fstat(fd, &status) ||
		    mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
