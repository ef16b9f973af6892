// SPDX-License-Identifier: GPL-2.0
// Reads this process's mappings from /proc/self/maps.
//
// Uses bare system calls: the C library's functions for them are cancellation points, and the program or another
// preloaded library may define functions of the same names.

#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mf_maps_open(struct mf_maps *maps)
{
	int saved = errno, code;

	maps->n = maps->at = 0;
	maps->fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	code = maps->fd < 0 ? -errno : 0;
	errno = saved;
	return code;
}

void mf_maps_close(struct mf_maps *maps)
{
	int saved = errno;

	syscall(SYS_close, maps->fd);
	errno = saved;
}

/* Returns the next character of /proc/self/maps, or -1 at the end of the file. */
static int next(struct mf_maps *maps)
{
	int saved = errno;
	long n;

	if (maps->at == maps->n) {
		do
			n = syscall(SYS_read, maps->fd, maps->buffer, sizeof(maps->buffer));
		while (n < 0 && errno == EINTR);
		errno = saved;
		maps->at = 0;
		maps->n = n > 0 ? (size_t)n : 0;
		if (!maps->n)
			return -1;
	}
	return (unsigned char)maps->buffer[maps->at++];
}

/* Reads a hexadecimal number from /proc/self/maps into *@address. Returns the character that follows the number. */
static int read_address(struct mf_maps *maps, uint64_t *address)
{
	int c;

	for (*address = 0; (c = next(maps)) >= 0;) {
		if (c >= '0' && c <= '9')
			*address = *address << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*address = *address << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return c;
}

bool mf_maps_next(struct mf_maps *maps, struct mf_map *map)
{
	int c;

	if (read_address(maps, &map->start) != '-' || read_address(maps, &map->end) != ' ')
		return false;
	map->protection = 0;
	while ((c = next(maps)) >= 0 && c != ' ') {
		map->protection |= c == 'r' ? PROT_READ : 0;
		map->protection |= c == 'w' ? PROT_WRITE : 0;
		map->protection |= c == 'x' ? PROT_EXEC : 0;
	}
	while (c >= 0 && c != '\n')
		c = next(maps);
	return true;
}
