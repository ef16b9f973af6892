// SPDX-License-Identifier: GPL-2.0
// Limits for reading an ELF file in pages mode: tests files that are exactly at a limit, one above it, and ten times as
// large. Also tests build ids.

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "elf/build_id.h"
#include "cfi/check.h"
#include "elf/file.h"
#include "selftests/lib/ctl_run.h"
#include "base/held.h"

#define ID_BYTES   20u /* the longest build id that is kept */
#define NOTE_BYTES (sizeof(Elf64_Nhdr) + sizeof(ELF_NOTE_GNU))
#define OTHER_NOTE 0x100

FIXTURE(file) {
	FILE *out;
	struct mf_held_file held;
	struct mf_elf_file *binary;
};

FIXTURE_SETUP(file)
{
	/* A file in memory, where holes take no space. */
	self->out = fdopen(memfd_create("pages_limits", MFD_CLOEXEC), "w");
	ASSERT_NE(NULL, self->out);
	self->held.fd = -1;
}

FIXTURE_TEARDOWN(file)
{
	mf_elf_file_close(self->binary);
	fclose(self->out);
}

static void write_at(FILE *out, uint64_t at, const void *bytes, size_t size)
{
	fseek(out, (long)at, SEEK_SET);
	fwrite(bytes, 1, size, out);
}

static void write_header(FILE *out, unsigned int segments, uint64_t sections, unsigned int n_sections)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (Elf64_Half)segments,
		.e_shoff = sections, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = (Elf64_Half)n_sections,
		.e_shstrndx = (Elf64_Half)(n_sections ? n_sections - 1 : 0),
	};

	write_at(out, 0, &header, sizeof(header));
}

static void write_segment(FILE *out, unsigned int number, const Elf64_Phdr *segment)
{
	write_at(out, sizeof(Elf64_Ehdr) + number * sizeof(*segment), segment, sizeof(*segment));
}

/* Opens the ELF file that the test has written. Returns NULL if mf_elf_file_open() refuses the file. */
static struct mf_elf_file *reopen(struct _test_data_file *self)
{
	mf_elf_file_close(self->binary);
	fflush(self->out);
	self->held.fd = fileno(self->out);
	self->held.size = (uint64_t)lseek(self->held.fd, 0, SEEK_END);
	self->binary = mf_elf_file_open(&self->held);
	return self->binary;
}

/* Each segment maps one page of the file. Its address is a MiB and a page above that of the previous segment. */
TEST_F(file, segments)
{
	enum { ROOM = 64 };
	static const unsigned int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };
	const uint64_t base = 0x10000, apart = 0x101000;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		unsigned int n = numbers[i];
		uint64_t address = 0;

		write_header(self->out, n, 0, 0);
		for (unsigned int j = 0; j < n; j++) {
			const Elf64_Phdr segment = {
				.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = base + j * 4096,
				.p_vaddr = j * apart, .p_filesz = 4096, .p_memsz = 4096, .p_align = 4096,
			};

			write_segment(self->out, j, &segment);
		}
		write_at(self->out, base + n * 4096 - 1, "", 1);
		ASSERT_NE(NULL, reopen(self));
		for (unsigned int j = 0; j < n; j++) {
			bool known = mf_elf_file_address(self->binary, base + j * 4096 + 7, &address);

			/*
			 * A file with more than ROOM segments is still accepted, but only the first ROOM segments are
			 * kept. Code in the others is treated as code without rules.
			 */
			EXPECT_EQ(j < ROOM, known);
			if (known)
				EXPECT_EQ(j * apart + 7, address);
		}
	}
}

/* Writes @bytes bytes of ELF notes, the last of which is a build id of @size bytes. */
static void write_notes(FILE *out, uint64_t at, uint64_t bytes, uint32_t size, const uint8_t *id)
{
	const Elf64_Nhdr last = { sizeof(ELF_NOTE_GNU), size, NT_GNU_BUILD_ID };
	const Elf64_Nhdr first = { 0, (uint32_t)(bytes - NOTE_BYTES - size - sizeof(first)), OTHER_NOTE };
	const Elf64_Phdr segment = {
		.p_type = PT_NOTE, .p_flags = PF_R, .p_offset = at, .p_filesz = bytes, .p_memsz = bytes, .p_align = 4,
	};

	write_header(out, 1, 0, 0);
	write_segment(out, 0, &segment);
	write_at(out, at, &first, sizeof(first));
	at += bytes - NOTE_BYTES - size;
	write_at(out, at, &last, sizeof(last));
	write_at(out, at + sizeof(last), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
	write_at(out, at + NOTE_BYTES, id, size);
}

TEST_F(file, bytes_of_notes)
{
	enum { ROOM = 65536 };
	static const uint64_t numbers[] = { ROOM, ROOM + 4, 10 * ROOM };
	static const uint8_t id[ID_BYTES] = "a build id of twenty";

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_object object = { 0 };

		write_notes(self->out, 4096, numbers[i], sizeof(id), id);
		ASSERT_NE(NULL, reopen(self));
		mf_elf_file_build_id(self->binary, &object);
		EXPECT_EQ(i ? 0 : ID_BYTES, object.build_id_size);
		EXPECT_TRUE(i || !memcmp(object.build_id, id, sizeof(id)));
	}
}

/*
 * Build ids of all lengths. If the length is not a multiple of four, there is no padding after the build id; some
 * linkers omit it, too.
 */
TEST_F(file, bytes_of_a_build_id)
{
	uint8_t id[10 * ID_BYTES];

	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)(0x80 + i);
	for (uint32_t size = 1; size <= sizeof(id); size += size == ID_BYTES + 1 ? 9 * ID_BYTES - 1 : 1) {
		struct mf_object object = { 0 };

		write_notes(self->out, 4096, 1000 + size, size, id);
		ASSERT_NE(NULL, reopen(self));
		mf_elf_file_build_id(self->binary, &object);
		EXPECT_EQ(size > ID_BYTES ? 0 : size, object.build_id_size);
		EXPECT_TRUE(size > ID_BYTES || !memcmp(object.build_id, id, size));
	}
}

/* Whatever sizes the notes claim to have, nothing is read beyond their end: the next page is inaccessible. */
TEST(damaged_notes)
{
	uint32_t seed = 1, found = 0;
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + 4096, 4096, PROT_NONE));
	for (unsigned int round = 0; round < 200000; round++) {
		uint32_t words[16];
		const void *id;
		size_t size, n;
		uint8_t *copy;

		for (size_t i = 0; i < 16; i++) {
			seed = seed * 1664525 + 1013904223;
			words[i] = seed >> 28 ? seed >> 29 : seed * 69069;
		}
		if (round % 2) {
			words[0] = sizeof(ELF_NOTE_GNU);
			words[2] = NT_GNU_BUILD_ID;
			memcpy(&words[3], ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
		}
		n = seed / 65536 % (sizeof(words) + 1);
		copy = pages + 4096 - n;
		memcpy(copy, words, n);
		size = mf_build_id_find(copy, n, &id);
		if (size) {
			found++;
			ASSERT_LE((uintptr_t)copy + NOTE_BYTES, (uintptr_t)id);
			ASSERT_GE((uintptr_t)copy + n, (uintptr_t)id + size);
		}
	}
	EXPECT_LT(1000, found);
	munmap(pages, 8192);
}

/*
 * Writes an .eh_frame without a search table: it has rules for 16 bytes of code and a terminator, and nothing
 * follows it.
 */
static void write_cfi(FILE *out, uint64_t bytes)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	static const uint32_t frame[] = {
		0x14, 0, 0x00527a01, 0x01107801, 0x0000031b | 0x00000c00 << 8, 0x00000807,
		0x10, 0x1c, 0x1000, 16, 0, 0,
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0, .p_filesz = 4096 + bytes, .p_memsz = 4096 + bytes,
	};
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = 4096, .sh_offset = 4096,
		  .sh_size = bytes },
		{ .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof(names) },
	};

	write_header(out, 1, 2048, 3);
	write_segment(out, 0, &segment);
	write_at(out, 1024, names, sizeof(names));
	write_at(out, 2048, sections, sizeof(sections));
	write_at(out, 4096, frame, sizeof(frame));
	fflush(out);
}

TEST_F_TIMEOUT(file, bytes_of_rules, 120)
{
	const uint64_t room = 256ull << 20, numbers[] = { 4096, room, room + 1, 10 * room };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		write_cfi(self->out, numbers[i]);
		/* Extend the file beyond the end of .eh_frame. The new part is a hole, which takes no disk space. */
		ASSERT_EQ(0, ftruncate(fileno(self->out), (off_t)(8192 + numbers[i])));
		ASSERT_NE(NULL, reopen(self));
		EXPECT_EQ(numbers[i] <= room, mf_elf_file_cfi(self->binary) != NULL) {
			TH_LOG("%llu", (unsigned long long)numbers[i]);
		}
	}
}

/*
 * Writes an .eh_frame_hdr with @n entries for different addresses. All entries point to a single FDE, which covers all
 * the addresses and has the maximum number of instructions. Returns the number of bytes of unwind rules that massif-ctl
 * keeps per entry.
 */
static uint64_t write_listed(FILE *out, uint32_t n)
{
	static const uint32_t cie[] = { 0x14, 0, 0x00527a01, 0x01107801, 0x0000031b | 0x00000c00 << 8, 0x00000807 };
	const uint64_t frames = 4096, fde = frames + sizeof(cie), list = frames + 2 * MF_CFI_PROGRAM_MAX;
	const uint32_t head[] = { 13 + MF_CFI_PROGRAM_MAX, sizeof(cie) + 4, 0x10000000, 0x40000000, 0 };
	const uint32_t header[] = { 0x3b031b01, 0, n };
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = list + 12 + 8ull * n,
		  .p_memsz = list + 12 + 8ull * n },
		{ .p_type = PT_GNU_EH_FRAME, .p_offset = list, .p_vaddr = list, .p_filesz = 12 + 8ull * n },
	};

	write_header(out, 2, 0, 0);
	write_segment(out, 0, &segments[0]);
	write_segment(out, 1, &segments[1]);
	write_at(out, frames, cie, sizeof(cie));
	write_at(out, fde, head, sizeof(head));
	write_at(out, list, header, sizeof(header));
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t entry[] = { i * 16, (uint32_t)(fde - list) };

		fwrite(entry, 1, sizeof(entry), out);
	}
	fflush(out);
	return 17 + MF_CFI_PROGRAM_MAX;
}

TEST_F_TIMEOUT(file, bytes_of_all_rules, 120)
{
	/* In addition to the FDEs, the rules contain a CIE and some spare bytes at the end. */
	const uint64_t one = 17 + MF_CFI_PROGRAM_MAX, room = (MF_CFI_RULES_MAX - 64) / one;
	const uint64_t numbers[] = { 1, room, room + 1, 10 * room };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct mf_cfi *cfi;

		ASSERT_EQ(one, write_listed(self->out, (uint32_t)numbers[i]));
		ASSERT_NE(NULL, reopen(self));
		cfi = mf_elf_file_cfi(self->binary);
		EXPECT_EQ(numbers[i] <= room, cfi != NULL) {
			TH_LOG("%llu", (unsigned long long)numbers[i]);
		}
		if (cfi)
			EXPECT_EQ(numbers[i], cfi->n_entries[MF_CFI_LISTED]);
	}
}

TEST_HARNESS_MAIN
