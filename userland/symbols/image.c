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

#define ID_PATH_SIZE (sizeof(DEBUG_ROOT) + 2 * 64 + 32)

/* Where the debug file is by that build id. Returns false if it is no sound one. */
static bool make_id_path(char path[static ID_PATH_SIZE], const uint8_t *bytes, size_t size)
{
	size_t at;

	if (size < 2 || size > 64)
		return false;
	at = (size_t)snprintf(path, ID_PATH_SIZE, DEBUG_ROOT "/.build-id/%02x/", bytes[0]);
	for (size_t i = 1; i < size; i++)
		at += (size_t)snprintf(path + at, ID_PATH_SIZE - at, "%02x", bytes[i]);
	snprintf(path + at, ID_PATH_SIZE - at, ".debug");
	return true;
}

static bool find_by_build_id(struct mf_image *image, const struct identity *identity)
{
	char path[ID_PATH_SIZE];

	image->found_by_build_id = make_id_path(path, identity->build_id, identity->build_id_size) &&
				   try_debug_file(image, path, identity);
	return image->found_by_build_id;
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

/* Is no separate file looked for? */
static bool is_complete(Elf *elf)
{
	return mf_sections_have(elf, ".symtab") && mf_sections_have_dwarf(elf);
}

void mf_image_open(struct mf_image *image, const struct mf_object *object)
{
	*image = (struct mf_image){ .fd = -1, .debug_fd = -1 };

	if (object->kind == MF_OBJECT_VDSO)
		image->elf = open_vdso(image);
	else if (object->kind == MF_OBJECT_FILE && object->path)
		image->elf = open_elf(object->path, &image->fd);
	if (!image->elf)
		return;

	if (was_replaced(image->elf, object)) {
		mf_image_close(image);
		return;
	}
	if (object->kind == MF_OBJECT_FILE && !is_complete(image->elf))
		find_debug_file(image, object->path);
}

void mf_image_close(struct mf_image *image)
{
	close_elf(&image->debug_elf, &image->debug_fd);
	close_elf(&image->elf, &image->fd);
	mf_sections_deinit(&image->sections);
	free(image->memory);
	image->memory = NULL;
}

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static struct mf_image_file file_of(const struct stat *status)
{
	return (struct mf_image_file){
		.inode = status->st_ino,
		.size = (uint64_t)status->st_size,
		.modified_ns = ns_of(&status->st_mtim),
		.changed_ns = ns_of(&status->st_ctim),
	};
}

bool mf_image_identify(const struct mf_image *image, struct mf_image_identity *identity)
{
	Elf *const elves[] = { image->elf, image->debug_elf };
	struct stat status;

	*identity = (struct mf_image_identity){ 0 };
	for (size_t i = 0; i < 2; i++) {
		/* A third file, with what several debug files have in common. */
		if (elves[i] && mf_sections_have(elves[i], ".gnu_debugaltlink"))
			return false;
	}
	if (image->fd < 0 || fstat(image->fd, &status))
		return false;
	identity->file = file_of(&status);
	if (!image->debug_elf)
		return is_complete(image->elf);
	if (!image->found_by_build_id || fstat(image->debug_fd, &status))
		return false;
	identity->debug = file_of(&status);
	return true;
}

void mf_image_look(const struct mf_object *object, struct mf_image_identity *identity)
{
	char path[ID_PATH_SIZE];
	struct stat status;

	*identity = (struct mf_image_identity){ 0 };
	if (object->kind != MF_OBJECT_FILE || !object->path || stat(object->path, &status))
		return;
	identity->file = file_of(&status);
	if (make_id_path(path, object->build_id, object->build_id_size) && !stat(path, &status))
		identity->debug = file_of(&status);
}

bool mf_image_is_still(const struct mf_image_identity *then, const struct mf_image_identity *now)
{
	static const struct mf_image_file none;

	if (memcmp(&then->file, &now->file, sizeof(then->file)) != 0)
		return false;
	/* What was complete needs no separate file, be there one or not. */
	return memcmp(&then->debug, &none, sizeof(none)) == 0 ||
	       memcmp(&then->debug, &now->debug, sizeof(then->debug)) == 0;
}
