// SPDX-License-Identifier: GPL-2.0
// Reading the text that a function returns, from small ELF files that the test writes: the code that compilers emit for
// x86-64 and arm64, code that does something else, and the limits.

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/held.h"
#include "elf/file.h"
#include "elf/text_function.h"

#define NAME "its_text"

/* The positions in the file, which are the addresses as well. */
#define SECTIONS 0x200
#define SYMBOLS	 0x300
#define NAMES	 0x380
#define TEXT	 0x800
#define CODE	 0x1400
#define WRITABLE 0x2000
#define END	 0x3000

FIXTURE(function) {
	FILE *out;
	struct mf_held_file held;
	struct mf_elf_file *binary;
	const char *text;
};

FIXTURE_SETUP(function)
{
	self->out = fdopen(memfd_create("elf_text_function", MFD_CLOEXEC), "w");
	ASSERT_NE(NULL, self->out);
}

FIXTURE_TEARDOWN(function)
{
	mf_elf_file_close(self->binary);
	fclose(self->out);
}

static void write_at(FILE *out, uint64_t at, const void *bytes, size_t size)
{
	fseek(out, (long)at, SEEK_SET);
	fwrite(bytes, 1, size, out);
}

/* Writes the headers; the segment that cannot be written to ends at WRITABLE, the other one at END. */
static void write_headers(FILE *out, uint16_t machine, uint32_t table)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT,
		.e_phoff = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		.e_shoff = SECTIONS, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
	};
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = WRITABLE, .p_memsz = WRITABLE },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = WRITABLE, .p_vaddr = WRITABLE,
		  .p_filesz = END - WRITABLE, .p_memsz = END - WRITABLE },
	};
	const Elf64_Shdr sections[] = {
		{ .sh_type = SHT_NULL },
		{ .sh_type = table, .sh_link = 2, .sh_offset = SYMBOLS, .sh_size = 2 * sizeof(Elf64_Sym) },
		{ .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof(NAME) + 1 },
	};

	write_at(out, 0, &header, sizeof(header));
	write_at(out, sizeof(header), segments, sizeof(segments));
	write_at(out, SECTIONS, sections, sizeof(sections));
	write_at(out, NAMES, "\0" NAME, sizeof(NAME) + 1);
	write_at(out, TEXT, "leak:one", 9);
	write_at(out, WRITABLE, "leak:two", 9);
	write_at(out, END - 1, "", 1);
}

static void write_symbol(FILE *out, unsigned char info, uint16_t section)
{
	const Elf64_Sym symbols[2] = {
		[1] = { .st_name = 1, .st_info = info, .st_shndx = section, .st_value = CODE },
	};

	write_at(out, SYMBOLS, symbols, sizeof(symbols));
}

static enum mf_text_function read_text(struct _test_data_function *self)
{
	mf_elf_file_close(self->binary);
	fflush(self->out);
	self->held.fd = fileno(self->out);
	self->held.size = (uint64_t)lseek(self->held.fd, 0, SEEK_END);
	self->binary = mf_elf_file_open(&self->held);
	self->text = NULL;
	return self->binary ? mf_text_function_read(self->binary, NAME, &self->text) : MF_TEXT_FUNCTION_UNREAD;
}

#define BYTES(code) code, sizeof(code) - 1
#define X86(code, expected) { EM_X86_64, BYTES(code), MF_TEXT_FUNCTION_##expected }
#define ARM(code, expected) { EM_AARCH64, BYTES(code), MF_TEXT_FUNCTION_##expected }

/* lea TEXT(%rip),%rax as the first instruction of the function, and as one that follows so many bytes */
#define LEA	  "\x48\x8d\x05\xf9\xf3\xff\xff"
#define LEA_AT(n) "\x48\x8d\x05" n "\xf3\xff\xff"
#define MOV	  "\xb8\x00\x08\x00\x00"
#define A64_ADRP  "\xe0\xff\xff\xf0" /* adrp x0, of the page before */
#define A64_ADD	  "\x00\x00\x20\x91" /* add x0, x0, #0x800 */
#define A64_RET	  "\xc0\x03\x5f\xd6"

static const struct {
	uint16_t machine;
	const char *code;
	size_t size;
	enum mf_text_function expected;
} functions[] = {
	X86(LEA "\xc3", FOUND),
	X86("\xf3\x0f\x1e\xfa" LEA_AT("\xf5") "\xc3", FOUND),
	X86("\x55\x48\x89\xe5" LEA_AT("\xf5") "\x5d\xc3", FOUND),
	X86("\x55" LEA_AT("\xf8") "\x48\x8b\xec\xc9\xf3\xc3", FOUND),
	X86("\x90\x66\x90" MOV "\xc3", FOUND),
	X86("\x48\xc7\xc0\x00\x08\x00\x00\xc3", FOUND),
	X86("\x48\xb8\x00\x08\x00\x00\x00\x00\x00\x00\xc3", FOUND),
	X86("\x31\xc0\xc3", NONE),
	X86("\xb8\x00\x00\x00\x00\xc3", NONE),
	/* Nothing is returned; the frame is not removed; it was not made. */
	X86("\xc3", COMPUTES),
	X86("\x55" MOV "\xc3", COMPUTES),
	X86(MOV "\x5d\xc3", COMPUTES),
	/* A call, a jump, a load, the address of another register. */
	X86(MOV "\xe8\x00\x00\x00\x00\xc3", COMPUTES),
	X86(MOV "\xeb\x00\xc3", COMPUTES),
	X86("\x48\x8b\x05\x00\x00\x00\x00\xc3", COMPUTES),
	X86("\x48\x8d\x0d\xf9\xf3\xff\xff\xc3", COMPUTES),
	/* Text that the program can change, and addresses without text. */
	X86("\xb8\x00\x20\x00\x00\xc3", COMPUTES),
	X86("\xb8\x00\x30\x00\x00\xc3", COMPUTES),
	X86("\x48\xc7\xc0\xff\xff\xff\xff\xc3", COMPUTES),
	ARM(A64_ADRP A64_ADD A64_RET, FOUND),
	ARM("\x5f\x24\x03\xd5" A64_ADRP A64_ADD A64_RET, FOUND), /* bti c */
	ARM("\x00\xa0\xff\x10" A64_RET, FOUND),			 /* adr x0 */
	ARM("\xe1\xff\xff\xf0\x20\x00\x20\x91" A64_RET, FOUND),	 /* through x1 */
	ARM("\x00\x00\x80\xd2" A64_RET, NONE),			 /* mov x0, #0 */
	ARM(A64_RET, COMPUTES),
	ARM(A64_ADD A64_RET, COMPUTES),
	ARM("\xe1\xff\xff\xf0" A64_RET, COMPUTES),
	ARM(A64_ADRP A64_ADD "\x00\x00\x40\xf9" A64_RET, COMPUTES), /* ldr x0, [x0] */
	ARM(A64_ADRP A64_ADD "\x00\x00\x00\x14" A64_RET, COMPUTES), /* b */
	{ EM_386, BYTES(MOV "\xc3"), MF_TEXT_FUNCTION_COMPUTES },
};

TEST_F(function, is_interpreted)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		/* The bytes after the function are zero, which is no instruction that the function reads. */
		static const uint8_t rest[64];
		enum mf_text_function found;

		write_headers(self->out, functions[i].machine, SHT_DYNSYM);
		write_symbol(self->out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1);
		write_at(self->out, CODE, rest, sizeof(rest));
		write_at(self->out, CODE, functions[i].code, functions[i].size);
		found = read_text(self);
		EXPECT_EQ(functions[i].expected, found) {
			TH_LOG("function %zu", i);
		}
		if (found == MF_TEXT_FUNCTION_FOUND)
			EXPECT_STREQ("leak:one", self->text);
	}
}

/* Which symbols another object could call. */
TEST_F(function, is_a_symbol_that_can_be_called)
{
	static const struct {
		uint32_t table;
		unsigned char info;
		uint16_t section;
		enum mf_text_function expected;
	} symbols[] = {
		{ SHT_DYNSYM, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1, MF_TEXT_FUNCTION_FOUND },
		{ SHT_SYMTAB, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1, MF_TEXT_FUNCTION_FOUND },
		{ SHT_DYNSYM, ELF64_ST_INFO(STB_WEAK, STT_FUNC), 1, MF_TEXT_FUNCTION_FOUND },
		{ SHT_SYMTAB, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 1, MF_TEXT_FUNCTION_NONE },
		{ SHT_DYNSYM, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF, MF_TEXT_FUNCTION_NONE },
		{ SHT_DYNSYM, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 1, MF_TEXT_FUNCTION_NONE },
		{ SHT_PROGBITS, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1, MF_TEXT_FUNCTION_NONE },
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		write_headers(self->out, EM_X86_64, symbols[i].table);
		write_symbol(self->out, symbols[i].info, symbols[i].section);
		write_at(self->out, CODE, MOV "\xc3", 6);
		EXPECT_EQ(symbols[i].expected, read_text(self)) {
			TH_LOG("symbol %zu", i);
		}
	}
}

/* The function is as long as it may be, one byte longer, and ten times as long. */
TEST_F(function, length_of_its_code)
{
	static const size_t sizes[] = { 64, 65, 640 };
	static uint8_t code[640];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(code, 0x90, sizeof(code));
		memcpy(code, MOV, 5);
		code[sizes[i] - 1] = 0xc3;
		write_headers(self->out, EM_X86_64, SHT_DYNSYM);
		write_symbol(self->out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1);
		write_at(self->out, CODE, code, sizes[i]);
		EXPECT_EQ(i ? MF_TEXT_FUNCTION_COMPUTES : MF_TEXT_FUNCTION_FOUND, read_text(self));
	}
}

/* The same for the text. */
TEST_F(function, length_of_its_text)
{
	static const size_t sizes[] = { MF_TEXT_FUNCTION_MAX, MF_TEXT_FUNCTION_MAX + 1, 10 * MF_TEXT_FUNCTION_MAX };
	static char text[10 * MF_TEXT_FUNCTION_MAX + 1];
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = END, .p_vaddr = END, .p_filesz = sizeof(text),
		.p_memsz = sizeof(text),
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		enum mf_text_function found;

		memset(text, 0, sizeof(text));
		memset(text, 'x', sizes[i]);
		write_headers(self->out, EM_X86_64, SHT_DYNSYM);
		write_symbol(self->out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1);
		write_at(self->out, sizeof(Elf64_Ehdr) + sizeof(segment), &segment, sizeof(segment));
		write_at(self->out, END, text, sizeof(text));
		write_at(self->out, CODE, "\xb8\x00\x30\x00\x00\xc3", 6);
		found = read_text(self);
		EXPECT_EQ(i ? MF_TEXT_FUNCTION_LONG : MF_TEXT_FUNCTION_FOUND, found);
		if (found == MF_TEXT_FUNCTION_FOUND)
			EXPECT_EQ(sizes[i], strlen(self->text));
	}
	/* A text without an end, that would be short enough. */
	memset(text, 'x', sizeof(text));
	write_at(self->out, END, text, sizeof(text));
	write_at(self->out, CODE, "\xb8\x80\x20\x0a\x00\xc3", 6);
	EXPECT_EQ(MF_TEXT_FUNCTION_COMPUTES, read_text(self));
}

TEST_HARNESS_MAIN
