// SPDX-License-Identifier: GPL-2.0
// Classifies a program by its ELF headers.

#include "kind.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_path.h"
#include "base/regular.h"

/*
 * The parts of an ELF file that decide its kind. Only 64-bit files are supported, because massif-ctl and its shim are
 * 64-bit.
 */
struct image {
	Elf64_Ehdr header;
	char loader[PATH_MAX]; /* the path in PT_INTERP, or empty if there is none */
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Reads the loader's path. Returns false if the file is damaged. */
static bool read_loader(int fd, struct image *image)
{
	image->loader[0] = '\0';
	if (image->header.e_phentsize != sizeof(Elf64_Phdr))
		return image->header.e_phnum == 0;
	for (unsigned int i = 0; i < image->header.e_phnum; i++) {
		Elf64_Phdr segment;

		if (!read_at(fd, &segment, sizeof(segment),
			     image->header.e_phoff + i * sizeof(segment)))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz == 0 || segment.p_filesz > sizeof(image->loader) ||
		    !read_at(fd, image->loader, segment.p_filesz, segment.p_offset))
			return false;
		return image->loader[segment.p_filesz - 1] == '\0';
	}
	return true;
}

/* Reads the ELF header. In a 32-bit file, the fields that identify the machine are at the same offsets. */
static bool read_header(int fd, struct image *image)
{
	memset(&image->header, 0, sizeof(image->header));
	if (!read_at(fd, &image->header, sizeof(Elf32_Ehdr), 0) ||
	    memcmp(image->header.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	if (image->header.e_ident[EI_CLASS] != ELFCLASS64)
		return true;
	return read_at(fd, &image->header, sizeof(image->header), 0);
}

static bool same_machine(const Elf64_Ehdr *a, const Elf64_Ehdr *b)
{
	return a->e_ident[EI_CLASS] == b->e_ident[EI_CLASS] &&
	       a->e_ident[EI_DATA] == b->e_ident[EI_DATA] && a->e_machine == b->e_machine;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns whether @path is the dynamic loader @loader or a symbolic link to it. The loader has no interpreter, and so
 * looks like a statically linked program; but when it is executed as a program, it does load the shim.
 */
static bool is_loader(const char *path, const char *loader)
{
	mf_auto_free char *real_path = realpath(path, NULL);
	mf_auto_free char *real_loader = realpath(loader, NULL);

	return real_path && real_loader && strcmp(real_path, real_loader) == 0;
}

static int open_ourselves(void)
{
	char path[PATH_MAX];

	return mf_own_path(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

enum mf_program_kind mf_elf_kind(const char *path)
{
	mf_auto_close int fd = mf_regular_open(path);
	mf_auto_close int own_fd = open_ourselves();
	struct image image, own;

	if (fd < 0 || !read_header(fd, &image))
		return MF_PROGRAM_UNKNOWN;
	if (own_fd < 0 || !read_header(own_fd, &own) || !read_loader(own_fd, &own))
		return MF_PROGRAM_UNKNOWN;
	if (!same_machine(&image.header, &own.header))
		return MF_PROGRAM_MACHINE;
	if (image.header.e_type != ET_EXEC && image.header.e_type != ET_DYN)
		return MF_PROGRAM_UNKNOWN;
	if (!read_loader(fd, &image))
		return MF_PROGRAM_UNKNOWN;
	if (!image.loader[0])
		return is_loader(path, own.loader) ? MF_PROGRAM_DYNAMIC : MF_PROGRAM_STATIC;
	/*
	 * Compare only the file names of the dynamic loaders: distributions may use different directories, but a
	 * different file name means a different C library.
	 */
	if (strcmp(last_part(image.loader), last_part(own.loader)) != 0)
		return MF_PROGRAM_LOADER;
	return MF_PROGRAM_DYNAMIC;
}
