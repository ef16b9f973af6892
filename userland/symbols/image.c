// SPDX-License-Identifier: GPL-2.0
// An ELF file on disk (or the vdso), and the separate file with its debug information.

#include "symbols/image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* What a separate debug file must agree with. */
struct identity {
	const void *build_id;
	size_t build_id_size; /* 0: none; then only @crc can tell */
	bool check_crc;
	GElf_Word crc;
};

/* A regular file as ELF; NULL and *fd = -1 if it is none. */
static Elf *open_elf(const char *path, int *fd)
{
	mf_auto_close int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	Elf *elf;

	*fd = -1;
	if (file < 0 || fstat(file, &status) || !S_ISREG(status.st_mode))
		return NULL;
	elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return NULL;
	if (elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
	*fd = mf_take(file, -1);
	return elf;
}

static void close_elf(Elf **elf, int *fd)
{
	if (*elf)
		elf_end(*elf);
	if (*fd >= 0)
		close(*fd);
	*elf = NULL;
	*fd = -1;
}

/* The size of the build id of @elf, 0 if it has none. */
static size_t find_build_id(Elf *elf, const void **build_id)
{
	ssize_t size = dwelf_elf_gnu_build_id(elf, build_id);

	return size > 0 ? (size_t)size : 0;
}

/*
 * The kernel maps the same vdso into every process, so this process' own serves for the program's.
 * It is copied since libelf takes memory to write to.
 */
static Elf *open_vdso(struct mf_image *image)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || !header->e_shoff)
		return NULL;
	/* The table of sections is the last thing in it. */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	image->memory = malloc(size);
	if (!image->memory)
		return NULL;
	memcpy(image->memory, header, size);
	return elf_memory(image->memory, size);
}

/* Does @object remember another build id than the one in @elf? */
static bool was_replaced(Elf *elf, const struct mf_object *object)
{
	const void *build_id;
	size_t size;

	if (!object->build_id_size)
		return false;
	size = find_build_id(elf, &build_id);
	return size != object->build_id_size || memcmp(build_id, object->build_id, size) != 0;
}

static bool crc_agrees(int fd, GElf_Word expected)
{
	uint8_t buffer[65536];
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = libdeflate_crc32(crc, buffer, (size_t)n);
		at += n;
	}
	return n == 0 && crc == expected;
}

/* Takes the debug file @path if it belongs to the image. */
static bool try_debug_file(struct mf_image *image, const char *path,
			   const struct identity *identity)
{
	const void *build_id;
	size_t size;

	mf_sources_add(&image->sources, path);
	image->debug_elf = open_elf(path, &image->debug_fd);
	if (!image->debug_elf)
		return false;
	size = find_build_id(image->debug_elf, &build_id);
	if (size && identity->build_id_size) {
		if (size == identity->build_id_size &&
		    memcmp(build_id, identity->build_id, size) == 0)
			return true;
	} else if (identity->check_crc && crc_agrees(image->debug_fd, identity->crc)) {
		return true;
	}
	close_elf(&image->debug_elf, &image->debug_fd);
	return false;
}

static bool find_by_build_id(struct mf_image *image, const struct identity *identity)
{
	char path[sizeof(DEBUG_ROOT) + 2 * 64 + 32];
	const uint8_t *bytes = identity->build_id;
	size_t at;

	if (identity->build_id_size < 2 || identity->build_id_size > 64)
		return false;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", bytes[0]);
	for (size_t i = 1; i < identity->build_id_size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", bytes[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return try_debug_file(image, path, identity);
}

/* Where GDB's documentation says that a linked debug file may be, relative to the object. */
static bool find_by_link(struct mf_image *image, const char *object_path, const char *name,
			 const struct identity *identity)
{
	static const char *const formats[] = {
		"%.*s/%s",
		"%.*s/.debug/%s",
		DEBUG_ROOT "%.*s/%s",
	};
	mf_auto_free char *real = realpath(object_path, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;

	if (!slash || strchr(name, '/'))
		return false;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		mf_auto_free char *path = NULL;

		if (asprintf(&path, formats[i], (int)(slash - real), real, name) < 0) {
			path = NULL;
			return false;
		}
		if (strcmp(path, real) != 0 && try_debug_file(image, path, identity))
			return true;
	}
	return false;
}

static void find_debug_file(struct mf_image *image, const char *object_path)
{
	struct identity identity = { .check_crc = false };
	GElf_Word crc = 0;
	const char *name = dwelf_elf_gnu_debuglink(image->elf, &crc);

	identity.build_id_size = find_build_id(image->elf, &identity.build_id);
	if (find_by_build_id(image, &identity) || !name)
		return;
	identity.check_crc = true;
	identity.crc = crc;
	find_by_link(image, object_path, name, &identity);
}

/*
 * Is some of it in a third file, with what several have in common? libdw looks for that, if there is
 * anything here that refers to it: a stripped object still names it.
 */
static bool is_shared(Elf *elf)
{
	return elf && mf_sections_have(elf, ".gnu_debugaltlink") && mf_sections_have_dwarf(elf);
}

void mf_image_open(struct mf_image *image, const struct mf_object *object)
{
	*image = (struct mf_image){ .fd = -1, .debug_fd = -1 };

	if (object->kind == MF_OBJECT_VDSO) {
		image->elf = open_vdso(image);
	} else if (object->kind == MF_OBJECT_FILE && object->path) {
		mf_sources_add(&image->sources, object->path);
		image->elf = open_elf(object->path, &image->fd);
	}
	if (!image->elf)
		return;

	if (was_replaced(image->elf, object)) {
		mf_image_close(image);
		return;
	}
	if (object->kind == MF_OBJECT_FILE && (!mf_sections_have(image->elf, ".symtab") ||
					       !mf_sections_have_dwarf(image->elf)))
		find_debug_file(image, object->path);
	image->sources.others |= is_shared(image->elf) || is_shared(image->debug_elf);
}

void mf_image_close(struct mf_image *image)
{
	close_elf(&image->debug_elf, &image->debug_fd);
	close_elf(&image->elf, &image->fd);
	mf_sections_deinit(&image->sections);
	mf_sources_deinit(&image->sources);
	free(image->memory);
	image->memory = NULL;
}
