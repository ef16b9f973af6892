// SPDX-License-Identifier: GPL-2.0
// Reads an ELF file for unwinding: segments, unwind table, build id, bytes.

#include "file.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_id.h"
#include "base/cleanup.h"
#include "base/inflate.h"

#define BLOCK_BYTES 65536ull /* number of bytes read at once */

#define NOTES_MAX 65536

/* Maximum size of a section with unwind rules. */
#define CFI_MAX (256ull << 20)

/* The encodings of .eh_frame_hdr that allow a binary search of its table. All linkers use these. */
#define EH_VERSION		1
#define EH_COUNT_UDATA4		0x03
#define EH_TABLE_DATAREL_SDATA4 0x3b
#define EH_HEADER_BYTES		12

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
#else
#define NATIVE_CLASS ELFCLASS32
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct mf_elf_file {
	const struct mf_held_file *held; /* the file on disk; NULL if all bytes are in memory, as for the vdso */
	uint8_t *bytes;	 /* bytes of the whole file, read block by block */
	uint8_t *blocks; /* bitmap of the blocks read so far */
	uint64_t size;
	ElfW(Phdr) segments[MF_ELF_SEGMENTS_MAX]; /* PT_LOAD segments */
	unsigned int n_segments;
	uint64_t table_header; /* address of .eh_frame_hdr */
	/* search table in .eh_frame_hdr: file offset, and number of entries (0: no table) */
	uint64_t table_offset, n_entries;
	struct mf_cfi cfi; /* the unwind rules; @cfi.rules is NULL if there are none */
	bool cfi_tried;
	uint64_t entry;
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
};

static bool load_block(struct mf_elf_file *binary, uint64_t block)
{
	uint64_t offset = block * BLOCK_BYTES;
	uint64_t size = binary->size - offset < BLOCK_BYTES ? binary->size - offset : BLOCK_BYTES;
	mf_auto_close int own = -1;
	int fd;

	if (!binary->held || binary->blocks[block / 8] & (1u << block % 8))
		return true;
	fd = binary->held->fd;
	if (fd < 0)
		fd = own = mf_held_open(binary->held);
	if (fd < 0 || pread(fd, binary->bytes + offset, size, (off_t)offset) != (ssize_t)size)
		return false;
	binary->blocks[block / 8] |= (uint8_t)(1u << block % 8);
	return true;
}

uint64_t mf_elf_file_size(const struct mf_elf_file *binary)
{
	return binary->size;
}

const uint8_t *mf_elf_file_bytes(struct mf_elf_file *binary, uint64_t offset, uint64_t size)
{
	if (offset > binary->size || size > binary->size - offset)
		return NULL;
	for (uint64_t block = offset / BLOCK_BYTES; size && block <= (offset + size - 1) / BLOCK_BYTES; block++)
		if (!load_block(binary, block))
			return NULL;
	return binary->bytes + offset;
}

bool mf_elf_file_read(struct mf_elf_file *binary, uint64_t offset, void *bytes, size_t size)
{
	const uint8_t *at = size ? mf_elf_file_bytes(binary, offset, size) : NULL;

	if (at)
		memcpy(bytes, at, size);
	return at || !size;
}

bool mf_elf_file_address(const struct mf_elf_file *binary, uint64_t offset, uint64_t *address)
{
	for (unsigned int i = 0; i < binary->n_segments; i++) {
		const ElfW(Phdr) *segment = &binary->segments[i];

		if (offset < segment->p_offset || offset - segment->p_offset >= segment->p_filesz)
			continue;
		*address = segment->p_vaddr + (offset - segment->p_offset);
		return true;
	}
	return false;
}

bool mf_elf_file_segment(const struct mf_elf_file *binary, unsigned int n, struct mf_elf_segment *segment)
{
	const ElfW(Phdr) *header = &binary->segments[n];

	if (n >= binary->n_segments)
		return false;
	*segment = (struct mf_elf_segment){ header->p_offset, header->p_filesz, header->p_vaddr };
	return true;
}

/* Finds the segment with the byte at link-time address @address. Returns NULL if the file has no such byte. */
static const ElfW(Phdr) *find_segment(const struct mf_elf_file *binary, uint64_t address)
{
	for (unsigned int i = 0; i < binary->n_segments; i++) {
		const ElfW(Phdr) *segment = &binary->segments[i];

		if (address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
			return segment;
	}
	return NULL;
}

/* Finds the file offset of the byte at link-time address @address. Returns false if there is none. */
static bool find_offset(const struct mf_elf_file *binary, uint64_t address, uint64_t *offset)
{
	const ElfW(Phdr) *segment = find_segment(binary, address);

	if (segment)
		*offset = segment->p_offset + (address - segment->p_vaddr);
	return segment;
}

const uint8_t *mf_elf_file_constant(struct mf_elf_file *binary, uint64_t address, uint64_t most, uint64_t *size)
{
	const ElfW(Phdr) *segment = find_segment(binary, address);
	uint64_t before;

	if (!segment || segment->p_flags & PF_W)
		return NULL;
	before = address - segment->p_vaddr;
	*size = segment->p_filesz - before < most ? segment->p_filesz - before : most;
	return mf_elf_file_bytes(binary, segment->p_offset + before, *size);
}

uint64_t mf_elf_file_entry(const struct mf_elf_file *binary)
{
	return binary->entry;
}

void mf_elf_file_build_id(const struct mf_elf_file *binary, struct mf_object *object)
{
	memcpy(object->build_id, binary->build_id, sizeof(object->build_id));
	object->build_id_size = binary->build_id_size;
}

static void read_table(struct mf_elf_file *binary, const ElfW(Phdr) *segment)
{
	struct {
		uint8_t version, pointer_encoding, count_encoding, table_encoding;
		int32_t pointer;
		uint32_t count;
	} header;

	_Static_assert(sizeof(header) == EH_HEADER_BYTES, "the header is packed as it is");
	if (!mf_elf_file_read(binary, segment->p_offset, &header, sizeof(header)) ||
	    header.version != EH_VERSION || header.count_encoding != EH_COUNT_UDATA4 ||
	    header.table_encoding != EH_TABLE_DATAREL_SDATA4 ||
	    header.count > (segment->p_filesz - EH_HEADER_BYTES) / 8)
		return;
	binary->table_header = segment->p_vaddr;
	binary->table_offset = segment->p_offset + EH_HEADER_BYTES;
	binary->n_entries = header.count;
}

/* Returns the decompressed bytes of a section, allocated with malloc(), or NULL if they cannot be read. */
static uint8_t *read_section(struct mf_elf_file *binary, const ElfW(Shdr) *section, size_t *size)
{
	mf_auto_free uint8_t *bytes = NULL;
	ElfW(Chdr) header;
	uint8_t *plain;

	if (section->sh_type == SHT_NOBITS || section->sh_size > CFI_MAX)
		return NULL;
	bytes = malloc(section->sh_size + 1);
	if (!bytes || !mf_elf_file_read(binary, section->sh_offset, bytes, section->sh_size))
		return NULL;
	*size = section->sh_size;
	if (!(section->sh_flags & SHF_COMPRESSED))
		return mf_take(bytes, NULL);

	if (*size < sizeof(header))
		return NULL;
	memcpy(&header, bytes, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size > CFI_MAX)
		return NULL;
	plain = mf_inflate(bytes + sizeof(header), *size - sizeof(header), header.ch_size);
	*size = header.ch_size;
	return plain;
}

static void add_sections(struct mf_elf_file *binary, struct mf_cfi_builder *builder)
{
	ElfW(Ehdr) elf;
	ElfW(Shdr) names, section;

	if (!mf_elf_file_read(binary, 0, &elf, sizeof(elf)) || elf.e_shentsize != sizeof(section) ||
	    !mf_elf_file_read(binary, elf.e_shoff + elf.e_shstrndx * sizeof(names), &names,
			    sizeof(names)))
		return;
	for (unsigned int i = 0; i < elf.e_shnum; i++) {
		mf_auto_free uint8_t *bytes = NULL;
		char name[16] = "";
		size_t size;
		bool loaded;

		if (!mf_elf_file_read(binary, elf.e_shoff + i * sizeof(section), &section,
				    sizeof(section)) ||
		    !mf_elf_file_read(binary, names.sh_offset + section.sh_name, name,
				    sizeof(name) - 1))
			continue;
		loaded = !strcmp(name, ".eh_frame") && !binary->n_entries;
		if (!loaded && strcmp(name, ".debug_frame"))
			continue;
		bytes = read_section(binary, &section, &size);
		if (bytes && loaded)
			mf_cfi_add_eh_frame(builder, bytes, size, section.sh_addr);
		else if (bytes)
			mf_cfi_add_debug_frame(builder, bytes, size);
	}
}

/* Reads the entry of .eh_frame that is loaded at @address, without its length field. */
static struct mf_dwarf read_entry(void *data, uint64_t address)
{
	struct mf_elf_file *binary = data;
	struct mf_dwarf entry = { .overrun = true };
	uint64_t offset;
	uint32_t length;

	if (!find_offset(binary, address, &offset) || !mf_elf_file_read(binary, offset, &length, sizeof(length)) ||
	    !length)
		return entry;
	entry.at = mf_elf_file_bytes(binary, offset + sizeof(length), length);
	if (!entry.at)
		return entry;
	entry.end = entry.at + length;
	entry.overrun = false;
	return entry;
}

/* Adds the rules listed in .eh_frame_hdr. */
static void add_listed(struct mf_elf_file *binary, struct mf_cfi_builder *builder)
{
	for (uint64_t i = 0; i < binary->n_entries; i++) {
		struct {
			int32_t start, fde;
		} entry;

		if (!mf_elf_file_read(binary, binary->table_offset + i * sizeof(entry), &entry, sizeof(entry)))
			break;
		mf_cfi_add_listed(builder, binary->table_header + (uint64_t)entry.start,
				  binary->table_header + (uint64_t)entry.fde, read_entry, binary);
	}
}

const struct mf_cfi *mf_elf_file_cfi(struct mf_elf_file *binary)
{
	struct mf_cfi_builder *builder;
	uint64_t base = UINT64_MAX;

	if (binary->cfi_tried)
		return binary->cfi.rules ? &binary->cfi : NULL;
	binary->cfi_tried = true;
	for (unsigned int i = 0; i < binary->n_segments; i++)
		if (binary->segments[i].p_vaddr < base)
			base = binary->segments[i].p_vaddr;
	builder = mf_cfi_begin(base);
	if (!builder)
		return NULL;
	add_listed(binary, builder);
	add_sections(binary, builder);
	return mf_cfi_end(builder, &binary->cfi) ? &binary->cfi : NULL;
}

static void read_notes(struct mf_elf_file *binary, const ElfW(Phdr) *segment)
{
	mf_auto_free uint8_t *notes = NULL;
	uint64_t size = segment->p_filesz;
	const void *id;

	if (size > NOTES_MAX || !(notes = malloc(size + 1)) ||
	    !mf_elf_file_read(binary, segment->p_offset, notes, size))
		return;
	size = mf_build_id_find(notes, size, &id);
	if (!size || size > MF_BUILD_ID_MAX)
		return;
	memcpy(binary->build_id, id, size);
	binary->build_id_size = (uint8_t)size;
}

static bool read_headers(struct mf_elf_file *binary)
{
	ElfW(Ehdr) elf;

	if (!mf_elf_file_read(binary, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != NATIVE_CLASS || elf.e_ident[EI_DATA] != NATIVE_DATA ||
	    elf.e_phentsize != sizeof(ElfW(Phdr)))
		return false;
	binary->entry = elf.e_entry;
	for (unsigned int i = 0; i < elf.e_phnum; i++) {
		ElfW(Phdr) segment;

		if (!mf_elf_file_read(binary, elf.e_phoff + i * sizeof(segment), &segment,
				    sizeof(segment)))
			return false;
		if (segment.p_type == PT_LOAD && binary->n_segments < MF_ELF_SEGMENTS_MAX)
			binary->segments[binary->n_segments++] = segment;
		else if (segment.p_type == PT_GNU_EH_FRAME && segment.p_filesz >= EH_HEADER_BYTES)
			read_table(binary, &segment);
		else if (segment.p_type == PT_NOTE && !binary->build_id_size)
			read_notes(binary, &segment);
	}
	return true;
}

struct mf_elf_file *mf_elf_file_open(const struct mf_held_file *held)
{
	struct mf_elf_file *binary;

	if (held->error || !held->size)
		return NULL;
	binary = calloc(1, sizeof(*binary));
	if (!binary)
		return NULL;
	binary->size = held->size;
	binary->held = held;
	binary->blocks = calloc(binary->size / BLOCK_BYTES / 8 + 1, 1);
	binary->bytes = mmap(NULL, binary->size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (binary->bytes == MAP_FAILED)
		binary->bytes = NULL;
	if (!binary->blocks || !binary->bytes || !read_headers(binary)) {
		mf_elf_file_close(binary);
		return NULL;
	}
	return binary;
}

struct mf_elf_file *mf_elf_file_open_vdso(void)
{
	const ElfW(Ehdr) *elf = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct mf_elf_file *binary;

	if (!elf)
		return NULL;
	binary = calloc(1, sizeof(*binary));
	if (!binary)
		return NULL;
	/* The section headers are at the end of the vdso, so its size follows from them. */
	binary->size = elf->e_shoff + (uint64_t)elf->e_shnum * elf->e_shentsize;
	binary->bytes = malloc(binary->size + 1);
	if (binary->bytes)
		memcpy(binary->bytes, elf, binary->size);
	if (!binary->bytes || !read_headers(binary)) {
		mf_elf_file_close(binary);
		return NULL;
	}
	return binary;
}

void mf_elf_file_close(struct mf_elf_file *binary)
{
	if (!binary)
		return;
	if (binary->held) {
		if (binary->bytes)
			munmap(binary->bytes, binary->size);
	} else {
		free(binary->bytes);
	}
	free(binary->blocks);
	mf_cfi_deinit(&binary->cfi);
	free(binary);
}
