// SPDX-License-Identifier: GPL-2.0
// An ELF file on disk (or the vdso), with the separate file that contains its debug information.

#include "symbols/image.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <libdeflate.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/build_id.h"
#include "base/held.h"

/* What a separate debug file must match to belong to the image. */
struct identity {
	const void *build_id;
	size_t build_id_size; /* 0 if there is no build id; then only @crc identifies the debug file */
	bool check_crc;
	GElf_Word crc;
};

/*
 * Opens the file @fd as ELF. Returns NULL if the file is not ELF, or if @fd is negative because opening the file
 * failed.
 */
static Elf *begin_elf(int fd)
{
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);

	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
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

/* Returns the size of the build id in the notes at @offset in @elf, or 0 if there is none. */
static size_t find_in_notes(Elf *elf, GElf_Off offset, GElf_Xword size, const void **build_id)
{
	const Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, size, ELF_T_BYTE);

	return data && data->d_buf ? mf_build_id_find(data->d_buf, data->d_size, build_id) : 0;
}

/*
 * Returns the size of the build id of @elf, or 0 if it has none. Sections are tried first, because the segment headers
 * of a separate debug file are copied from the file it belongs to. (libdw is not used for this: it rejects a final note
 * without padding.)
 */
static size_t find_build_id(Elf *elf, const void **build_id)
{
	Elf_Scn *section = NULL;
	size_t size = 0, n = 0;
	GElf_Shdr header;
	GElf_Phdr segment;

	while (!size && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE)
			size = find_in_notes(elf, header.sh_offset, header.sh_size, build_id);
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; !size && i < n; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_NOTE)
			size = find_in_notes(elf, segment.p_offset, segment.p_filesz, build_id);
	return size;
}

/* Returns whether the build id of @elf differs from that of @object. */
static bool was_replaced(Elf *elf, const struct mf_object *object)
{
	const void *build_id;
	size_t size;

	if (!object->build_id_size)
		return false;
	size = find_build_id(elf, &build_id);
	return size != object->build_id_size || memcmp(build_id, object->build_id, size) != 0;
}

/*
 * The kernel maps the same vdso into every process, so we can read our own. It is copied because libelf needs writable
 * memory. A recording can be of another kernel, whose vdso has another build id.
 */
static void open_vdso(struct mf_image *image, const struct mf_object *object)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || !header->e_shoff)
		return;
	/* The section headers are at the end of the vdso. */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	image->memory = malloc(size);
	if (!image->memory)
		return;
	memcpy(image->memory, header, size);
	image->elf = elf_memory(image->memory, size);
	if (image->elf && was_replaced(image->elf, object))
		close_elf(&image->elf, &image->fd);
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

/* Opens the debug file of @request; returns whether it belongs to the image. */
static bool try_debug_file(struct mf_image *image, const struct mf_opener_request *request,
			   const struct identity *identity)
{
	const void *build_id;
	size_t size;

	image->debug_fd = image->open(image->opener, request);
	image->debug_elf = begin_elf(image->debug_fd);
	if (!image->debug_elf) {
		close_elf(&image->debug_elf, &image->debug_fd);
		return false;
	}
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
	struct mf_opener_request request = { .what = MF_OPENER_BY_BUILD_ID };

	if (!identity->build_id_size || identity->build_id_size > sizeof(request.name))
		return false;
	request.size = (uint32_t)identity->build_id_size;
	memcpy(request.name, identity->build_id, request.size);
	return try_debug_file(image, &request, identity);
}

static bool find_by_link(struct mf_image *image, const char *name, const struct identity *identity)
{
	struct mf_opener_request request = { .what = MF_OPENER_BY_LINK };
	size_t size = strlen(name);

	if (size > sizeof(request.name))
		return false;
	request.size = (uint32_t)size;
	memcpy(request.name, name, size);
	for (; request.place < MF_OPENER_PLACES; request.place++)
		if (try_debug_file(image, &request, identity))
			return true;
	return false;
}

static void find_debug_file(struct mf_image *image)
{
	struct identity identity = { .check_crc = false };
	GElf_Word crc = 0;
	const char *name = dwelf_elf_gnu_debuglink(image->elf, &crc);

	identity.build_id_size = find_build_id(image->elf, &identity.build_id);
	if (find_by_build_id(image, &identity) || !name)
		return;
	identity.check_crc = true;
	identity.crc = crc;
	find_by_link(image, name, &identity);
}

/*
 * Returns whether some debug information is in a third file, shared by several objects. libdw opens that file if @elf
 * refers to it. Even a stripped file still contains the reference, so also check that @elf has debug information.
 */
static bool is_shared(Elf *elf)
{
	return elf && mf_sections_have(elf, ".gnu_debugaltlink") && mf_sections_have_dwarf(elf);
}

/* Returns a message that says why a file could not be opened; @code is -errno. */
static const char *why_not_opened(int code)
{
	return code == -ESTALE ? "the file was replaced by another one" : strerrordesc_np(-code);
}

/*
 * Returns whether the file @fd is not the one that the shim saw when @object was loaded, or has been modified since
 * then.
 */
static bool was_written(const struct mf_object *object, int fd)
{
	struct stat status;

	return object->inode &&
	       (fstat(fd, &status) || status.st_ino != object->inode ||
		(int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec != object->modified_ns);
}

/*
 * Returns NULL if the opened file matches @object. Otherwise returns the reason why it does not, in which case names
 * read from it would be wrong.
 */
static const char *why_not_that(const struct mf_image *image, const struct mf_object *object, int fd)
{
	bool changed = object->held && mf_held_is_of(object->held, fd) &&
		       mf_held_has_changed(object->held, fd);

	/* Without a build id, we trust a file only if it has not been modified. */
	if (!object->build_id_size && (changed || was_written(object, fd)))
		return "it was written to or replaced while it was mapped, and it has no build id";
	if (!object->build_id_size)
		return NULL;
	if (image->elf && !was_replaced(image->elf, object))
		return NULL;
	return changed ? "it was overwritten while it was mapped" : "the file was replaced by another one";
}

/* If @fd is the file of @object, stores it in @image; otherwise closes it. @fd may be -errno. */
static void take_file(struct mf_image *image, const struct mf_object *object, int fd)
{
	image->fd = fd < 0 ? -1 : fd;
	image->elf = begin_elf(fd);
	image->why = fd < 0 ? why_not_opened(fd) : why_not_that(image, object, fd);
	if (!image->elf || image->why)
		close_elf(&image->elf, &image->fd);
}

static int ask(struct mf_image *image, enum mf_opener_what what)
{
	return image->open(image->opener, &(struct mf_opener_request){ .what = what });
}

static void open_file(struct mf_image *image, const struct mf_object *object)
{
	const char *why;

	take_file(image, object, ask(image, MF_OPENER_OBJECT));
	if (!image->why || !object->held || !object->build_id_size)
		return;
	/*
	 * Try the object's path, which may lead to a file of the same build. If it does not, report why the first file
	 * was rejected.
	 */
	why = image->why;
	take_file(image, object, ask(image, MF_OPENER_PATH));
	if (image->why)
		image->why = why;
}

unsigned int mf_image_found(const struct mf_image *image)
{
	Elf *const files[] = { image->elf, image->debug_elf };
	unsigned int found = 0;

	for (size_t i = 0; i < 2; i++) {
		if (files[i] && mf_sections_have(files[i], ".symtab"))
			found |= MF_IMAGE_SYMBOLS;
		if (files[i] && mf_sections_have_dwarf(files[i]))
			found |= MF_IMAGE_DWARF;
	}
	return found;
}

/* Returns why no file was found for the image, if @fd, an ELF file or -errno, is a file of another build or damaged. */
static const char *why_not_searched(int fd)
{
	if (fd >= 0)
		return "the files found for it have another build-id";
	if (fd == -ENOEXEC)
		return "a file found for it is not an ELF file";
	return fd == -ENOENT || fd == -ENOTDIR || fd == -ENXIO ? NULL : strerrordesc_np(-fd);
}

/*
 * If @fd is a file of @object and has what the image lacks, stores it in @image; otherwise closes it. @fd may be -errno.
 */
static void take_searched(struct mf_image *image, const struct mf_object *object, int fd)
{
	Elf *elf = begin_elf(fd);

	if (!elf || was_replaced(elf, object)) {
		image->why = why_not_searched(elf || fd < 0 ? fd : -ENOEXEC) ?: image->why;
	} else if (mf_sections_have_dwarf(elf) && !(mf_image_found(image) & MF_IMAGE_DWARF)) {
		close_elf(&image->debug_elf, &image->debug_fd);
		image->debug_elf = mf_take(elf, NULL);
		image->debug_fd = mf_take(fd, -1);
	} else if (!image->elf) {
		image->elf = mf_take(elf, NULL);
		image->fd = mf_take(fd, -1);
	} else if (!image->debug_elf && mf_sections_have(elf, ".symtab")) {
		image->debug_elf = mf_take(elf, NULL);
		image->debug_fd = mf_take(fd, -1);
	}
	close_elf(&elf, &fd);
}

/* Looks for what the image lacks in further files, if there is a search. A server is the last resort. */
static void search(struct mf_image *image, const struct mf_object *object)
{
	struct mf_opener_request request = { .what = MF_OPENER_SEARCHED };

	for (; mf_image_found(image) != (MF_IMAGE_SYMBOLS | MF_IMAGE_DWARF); request.place++) {
		int fd = image->open(image->opener, &request);

		if (fd == -ENXIO && !request.place)
			return;
		if (fd == -ENXIO)
			break;
		take_searched(image, object, fd);
	}
	if (!(mf_image_found(image) & MF_IMAGE_DWARF))
		take_searched(image, object, ask(image, MF_OPENER_FETCHED));
	if (image->elf || image->debug_elf)
		image->why = NULL;
}

void mf_image_open(struct mf_image *image, const struct mf_object *object, mf_image_opening *open, void *opener)
{
	*image = (struct mf_image){ .fd = -1, .debug_fd = -1, .open = open, .opener = opener };

	if (object->kind == MF_OBJECT_VDSO)
		open_vdso(image, object);
	else if (object->kind == MF_OBJECT_FILE && object->path)
		open_file(image, object);
	if (image->elf && object->kind == MF_OBJECT_FILE &&
	    mf_image_found(image) != (MF_IMAGE_SYMBOLS | MF_IMAGE_DWARF))
		find_debug_file(image);
	if (object->kind == MF_OBJECT_FILE && object->build_id_size)
		search(image, object);
	image->shares = is_shared(image->elf) || is_shared(image->debug_elf);
	/* libdw uses the first that has debug information. */
	if (image->shares)
		mf_shared_file_find(&image->shared, is_shared(image->elf) ? image->elf : image->debug_elf);
}

void mf_image_close(struct mf_image *image)
{
	close_elf(&image->debug_elf, &image->debug_fd);
	close_elf(&image->elf, &image->fd);
	mf_sections_deinit(&image->sections);
	free(image->memory);
	image->memory = NULL;
}
