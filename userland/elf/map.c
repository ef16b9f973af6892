// SPDX-License-Identifier: GPL-2.0
// Reads an ELF object's unwind tables into memory, at the same relative addresses as the dynamic linker would.
//
// They are read, not mapped, because truncating a mapped file would kill us.

#include "map.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_id.h"
#include "base/cleanup.h"
#include "base/regular.h"
#include "cfi/request_site.h"

#define SEGMENTS_MAX 64
#define CHUNK	     (1u << 20) /* code is searched for client requests in pieces of at most this many bytes */
#define SPAN_MAX    (1ull << 32) /* limit on link-time addresses, which are 32 bits wide in row files */

struct segments {
	uint64_t start, end; /* range of the link-time addresses of all segments */
	uint64_t file_size;
	int n;
	Elf64_Phdr headers[SEGMENTS_MAX];
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Returns whether the @size bytes at @offset lie within a file or memory of @whole bytes. */
static bool is_within(uint64_t offset, uint64_t size, uint64_t whole)
{
	return size <= whole && offset <= whole - size;
}

static int read_segments(int fd, struct segments *segments)
{
	struct stat status;
	Elf64_Ehdr head;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || !read_at(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != EM_X86_64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > SEGMENTS_MAX ||
	    !read_at(fd, segments->headers, head.e_phnum * sizeof(Elf64_Phdr), head.e_phoff))
		return -ENOEXEC;
	segments->n = head.e_phnum;
	segments->file_size = (uint64_t)status.st_size;
	segments->start = UINT64_MAX;
	segments->end = 0;
	for (int i = 0; i < segments->n; i++) {
		const Elf64_Phdr *header = &segments->headers[i];
		uint64_t end = header->p_vaddr + header->p_memsz;

		if (header->p_type != PT_LOAD)
			continue;
		if (!is_within(header->p_offset, header->p_filesz, segments->file_size) ||
		    !is_within(header->p_vaddr, header->p_memsz, SPAN_MAX) ||
		    header->p_filesz > header->p_memsz)
			return -ENOEXEC;
		if (header->p_vaddr < segments->start)
			segments->start = header->p_vaddr;
		if (end > segments->end)
			segments->end = end;
	}
	return segments->start < segments->end ? 0 : -ENOEXEC;
}

/* Returns whether @segment contains the build id or the unwind tables, which never span segments. */
static bool is_wanted(const struct segments *segments, const Elf64_Phdr *segment)
{
	for (int i = 0; i < segments->n; i++) {
		const Elf64_Phdr *part = &segments->headers[i];

		if ((part->p_type == PT_NOTE || part->p_type == PT_GNU_EH_FRAME) &&
		    part->p_vaddr - segment->p_vaddr < segment->p_filesz)
			return true;
	}
	return false;
}

/* Reads only the segments that are needed. The rest of the memory is not touched. */
static int read_wanted(int fd, const struct segments *segments, struct mf_elf_map *map)
{
	map->size = segments->end - segments->start;
	map->memory = mmap(NULL, map->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map->memory == MAP_FAILED) {
		map->memory = NULL;
		return -errno;
	}
	map->bias = (uint64_t)(uintptr_t)map->memory - segments->start;
	map->object.start = map->memory;
	map->object.end = map->object.start + map->size;
	map->object.header = NULL;
	for (int i = 0; i < segments->n; i++) {
		const Elf64_Phdr *segment = &segments->headers[i];

		if (segment->p_type == PT_LOAD && is_wanted(segments, segment) &&
		    !read_at(fd, (void *)(uintptr_t)(segment->p_vaddr + map->bias),
			     segment->p_filesz, segment->p_offset))
			return -ESTALE;
	}
	return 0;
}

/* Returns where segment @header is in map->memory, or NULL if it is not there. */
static const uint8_t *place_of(const struct segments *segments, const struct mf_elf_map *map,
			       const Elf64_Phdr *header)
{
	if (header->p_vaddr < segments->start ||
	    !is_within(header->p_vaddr - segments->start, header->p_filesz, map->size))
		return NULL;
	return (const uint8_t *)(uintptr_t)(header->p_vaddr + map->bias);
}

static bool has_id(const uint8_t *notes, size_t size, const struct mf_object *object)
{
	const void *id;
	size_t found = mf_build_id_find(notes, size, &id);

	return found && found == object->build_id_size && !memcmp(id, object->build_id, found);
}

static int find_parts(const struct segments *segments, struct mf_elf_map *map,
		      const struct mf_object *object)
{
	bool same = false;

	for (int i = 0; i < segments->n; i++) {
		const Elf64_Phdr *header = &segments->headers[i];
		const uint8_t *place = place_of(segments, map, header);

		if (place && header->p_type == PT_NOTE)
			same = same || has_id(place, header->p_filesz, object);
		else if (place && header->p_type == PT_GNU_EH_FRAME)
			map->object.header = place;
	}
	return same ? 0 : -ESTALE;
}

/* Records the code segments. If there are too many, records none. */
static void note_code(const struct segments *segments, struct mf_elf_map *map)
{
	for (int i = 0; i < segments->n; i++) {
		const Elf64_Phdr *segment = &segments->headers[i];

		if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_R | PF_X)) != (PF_R | PF_X))
			continue;
		if (map->n_code == MF_ELFMAP_CODE_MAX) {
			map->n_code = 0;
			return;
		}
		map->code[map->n_code++] =
			(struct mf_elf_map_part){ segment->p_offset, segment->p_filesz };
	}
}

int mf_elf_map_open(struct mf_elf_map *map, const struct mf_object *object)
{
	int fd = mf_regular_open(object->path);

	return mf_elf_map_read(map, object, fd);
}

int mf_elf_map_read(struct mf_elf_map *map, const struct mf_object *object, int fd)
{
	struct segments segments;
	int ret;

	*map = (struct mf_elf_map){ .fd = fd };
	if (map->fd < 0)
		return map->fd;
	ret = read_segments(map->fd, &segments);
	if (!ret)
		ret = read_wanted(map->fd, &segments, map);
	if (!ret)
		ret = find_parts(&segments, map, object);
	if (ret)
		mf_elf_map_close(map);
	else
		note_code(&segments, map);
	return ret;
}

void mf_elf_map_close(struct mf_elf_map *map)
{
	if (map->memory)
		munmap(map->memory, map->size);
	if (map->fd >= 0)
		close(map->fd);
	map->memory = NULL;
	map->fd = -1;
}

/*
 * Returns whether @part contains a client request or cannot be read. Consecutive chunks overlap by the length of a
 * request minus one byte, so that none is missed between them.
 */
static bool has_request(int fd, const struct mf_elf_map_part *part, uint8_t *chunk)
{
	uint64_t done = 0;

	while (done < part->size) {
		size_t size = part->size - done < CHUNK ? part->size - done : CHUNK;

		if (!read_at(fd, chunk, size, part->offset + done) || mf_request_site_find(chunk, size))
			return true;
		done += size;
		if (done < part->size)
			done -= MF_REQUEST_SITE_BYTES - 1;
	}
	return false;
}

uint64_t mf_elf_map_search(const struct mf_elf_map *map)
{
	mf_auto_free uint8_t *chunk = malloc(CHUNK);
	uint64_t bytes = 0;

	for (int i = 0; i < map->n_code; i++) {
		if (!chunk || has_request(map->fd, &map->code[i], chunk))
			return 0;
		bytes += map->code[i].size;
	}
	return bytes;
}
