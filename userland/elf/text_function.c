// SPDX-License-Identifier: GPL-2.0
// Functions that only return the address of a constant text.
//
// The code of the function is interpreted, as far as compilers emit it for such a function with any options: the frame is
// made and removed, the address is computed, and the function returns. Any other instruction ends the attempt.

#include "elf/text_function.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* Longer functions do something else. */
#define CODE_MAX 64u

/* The value that the function returns, as far as it is known. */
struct result {
	uint64_t address;
	bool is_known;
};

/* The effect of an x86-64 instruction on the returned value and on the stack. */
enum effect {
	NOTHING,
	PUSH,
	POP,
	RELATIVE, /* the result is the address of the next instruction plus an operand of 4 bytes */
	ABSOLUTE, /* the result is an operand of 4 bytes */
	SIGNED,	  /* the same, with its sign extended */
	LONG,	  /* the result is an operand of 8 bytes */
	NULLED,	  /* the result is 0 */
	RETURN,
};

static const struct instruction {
	const char *bytes;
	uint8_t size, operand; /* number of bytes before the operand, and of the operand */
	enum effect effect;
} instructions[] = {
	{ "\xf3\x0f\x1e\xfa", 4, 0, NOTHING },	/* endbr64 */
	{ "\x90", 1, 0, NOTHING },		/* nop */
	{ "\x66\x90", 2, 0, NOTHING },
	{ "\x55", 1, 0, PUSH },			/* push %rbp */
	{ "\x48\x89\xe5", 3, 0, NOTHING },	/* mov %rsp,%rbp, in both encodings */
	{ "\x48\x8b\xec", 3, 0, NOTHING },
	{ "\x5d", 1, 0, POP },			/* pop %rbp */
	{ "\xc9", 1, 0, POP },			/* leave */
	{ "\x48\x8d\x05", 3, 4, RELATIVE },	/* lea x(%rip),%rax */
	{ "\xb8", 1, 4, ABSOLUTE },		/* mov $x,%eax */
	{ "\x48\xc7\xc0", 3, 4, SIGNED },	/* mov $x,%rax */
	{ "\x48\xb8", 2, 8, LONG },		/* movabs $x,%rax */
	{ "\x31\xc0", 2, 0, NULLED },		/* xor %eax,%eax */
	{ "\xc3", 1, 0, RETURN },		/* ret */
	{ "\xf3\xc3", 2, 0, RETURN },		/* repz ret */
};

static const struct instruction *instruction_at(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		const struct instruction *instruction = &instructions[i];

		if ((size_t)instruction->size + instruction->operand <= size &&
		    memcmp(code, instruction->bytes, instruction->size) == 0)
			return instruction;
	}
	return NULL;
}

/* @operand are the bytes of the operand; @next is the address of the next instruction. */
static uint64_t value_of(enum effect effect, const uint8_t *operand, uint64_t next)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (effect == NULLED)
		return 0;
	if (effect == LONG) {
		memcpy(&wide, operand, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, operand, sizeof(narrow));
	if (effect == ABSOLUTE)
		return narrow;
	return (uint64_t)(int64_t)(int32_t)narrow + (effect == RELATIVE ? next : 0);
}

/* Interprets code of x86-64. Returns whether the function returns, without doing anything else. */
static bool interpret_x86(const uint8_t *code, size_t size, uint64_t address, struct result *result)
{
	const struct instruction *instruction;
	int pushed = 0;

	for (size_t at = 0; (instruction = instruction_at(code + at, size - at));) {
		const uint8_t *operand = code + at + instruction->size;

		at += instruction->size + instruction->operand;
		switch (instruction->effect) {
		case NOTHING:
			break;
		case PUSH:
		case POP:
			pushed += instruction->effect == PUSH ? 1 : -1;
			if (pushed < 0)
				return false;
			break;
		case RETURN:
			return !pushed && result->is_known;
		default:
			*result = (struct result){ value_of(instruction->effect, operand, address + at), true };
		}
	}
	return false;
}

/* Number of the register in which an arm64 function returns an address; and bits of arm64 instructions. */
#define A64_RESULT    0u
#define A64_TO(code)  ((code) & 31)
#define A64_BY(code)  ((code) >> 5 & 31)
#define A64_ZERO      31u

/* Returns the distance of adr and adrp: 21 bits, of which the lowest two are elsewhere. */
static uint64_t distance_of(uint32_t code)
{
	uint32_t bits = (code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	return (uint64_t)((int64_t)((uint64_t)bits << 43) >> 43);
}

/* Interprets code of arm64. */
static bool interpret_arm64(const uint8_t *bytes, size_t size, uint64_t address, struct result *result)
{
	struct result registers[A64_ZERO] = { 0 };

	for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
		uint64_t pc = address + at;
		uint32_t code, to;

		memcpy(&code, bytes + at, sizeof(code));
		to = A64_TO(code);
		*result = registers[A64_RESULT];
		if (code == 0xd65f03c0) /* ret */
			return result->is_known;
		if ((code & 0xfffff01f) == 0xd503201f) /* nop, bti, paciasp, autiasp */
			continue;
		if (to == A64_ZERO)
			return false;
		if ((code & 0x9f000000) == 0x90000000) { /* adrp */
			registers[to] = (struct result){ (pc & ~4095ull) + (distance_of(code) << 12), true };
		} else if ((code & 0x9f000000) == 0x10000000) { /* adr */
			registers[to] = (struct result){ pc + distance_of(code), true };
		} else if ((code & 0xff800000) == 0x91000000 && A64_BY(code) != A64_ZERO) { /* add, of 12 bits */
			registers[to] = registers[A64_BY(code)];
			registers[to].address += (uint64_t)(code >> 10 & 0xfff) << (code & 1u << 22 ? 12 : 0);
		} else if (code == 0xd2800000) { /* mov x0, #0 */
			registers[to] = (struct result){ 0, true };
		} else {
			return false;
		}
	}
	return false;
}

/* A symbol table, with the names of its symbols. */
struct table {
	const char *names;
	uint64_t n_names; /* size of the names in bytes */
	uint64_t at, count;
};

/* Finds the first symbol table of @type, SHT_SYMTAB or SHT_DYNSYM. */
static bool find_table(struct mf_elf_file *binary, uint32_t type, struct table *table)
{
	ElfW(Ehdr) elf;
	ElfW(Shdr) section, names;
	unsigned int i = 0;

	if (!mf_elf_file_read(binary, 0, &elf, sizeof(elf)) || elf.e_shentsize != sizeof(section))
		return false;
	for (section.sh_type = SHT_NULL; i < elf.e_shnum && section.sh_type != type; i++)
		if (!mf_elf_file_read(binary, elf.e_shoff + i * sizeof(section), &section, sizeof(section)))
			return false;
	if (section.sh_type != type || section.sh_link >= elf.e_shnum || section.sh_flags & SHF_COMPRESSED ||
	    !mf_elf_file_read(binary, elf.e_shoff + section.sh_link * sizeof(names), &names, sizeof(names)))
		return false;
	*table = (struct table){
		.names = (const char *)mf_elf_file_bytes(binary, names.sh_offset, names.sh_size),
		.n_names = names.sh_size,
		.at = section.sh_offset,
		.count = section.sh_size / sizeof(ElfW(Sym)),
	};
	return names.sh_type == SHT_STRTAB && table->names;
}

static bool is_callable(const ElfW(Sym) *symbol)
{
	unsigned int bind = ELF64_ST_BIND(symbol->st_info);

	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (bind == STB_GLOBAL || bind == STB_WEAK) &&
	       symbol->st_shndx != SHN_UNDEF;
}

/* Finds the function @name in a symbol table. Returns its link-time address, or 0 if there is none. */
static uint64_t find_in_table(struct mf_elf_file *binary, uint32_t type, const char *name)
{
	size_t size = strlen(name) + 1;
	struct table table;
	ElfW(Sym) symbol;

	/* Few files have the name, and its search is faster than that of the symbols. */
	if (!find_table(binary, type, &table) || !memmem(table.names, table.n_names, name, size))
		return 0;
	for (uint64_t i = 0; i < table.count; i++) {
		if (!mf_elf_file_read(binary, table.at + i * sizeof(symbol), &symbol, sizeof(symbol)))
			return 0;
		if (is_callable(&symbol) && symbol.st_name < table.n_names && table.n_names - symbol.st_name >= size &&
		    memcmp(table.names + symbol.st_name, name, size) == 0)
			return symbol.st_value;
	}
	return 0;
}

/* Finds the address that the function at @address returns. Returns false if the function does something else. */
static bool interpret(struct mf_elf_file *binary, uint64_t address, struct result *result)
{
	const uint8_t *code;
	ElfW(Ehdr) elf;
	uint64_t size;

	code = mf_elf_file_constant(binary, address, CODE_MAX, &size);
	if (!code || !mf_elf_file_read(binary, 0, &elf, sizeof(elf)))
		return false;
	if (elf.e_machine == EM_X86_64)
		return interpret_x86(code, size, address, result);
	return elf.e_machine == EM_AARCH64 && interpret_arm64(code, size, address, result);
}

enum mf_text_function mf_text_function_read(struct mf_elf_file *binary, const char *name, const char **text)
{
	uint64_t size, address = find_in_table(binary, SHT_DYNSYM, name);
	struct result result = { 0 };
	const uint8_t *bytes;

	if (!address)
		address = find_in_table(binary, SHT_SYMTAB, name);
	if (!address)
		return MF_TEXT_FUNCTION_NONE;
	if (!interpret(binary, address, &result))
		return MF_TEXT_FUNCTION_COMPUTES;
	if (!result.address)
		return MF_TEXT_FUNCTION_NONE;
	bytes = mf_elf_file_constant(binary, result.address, MF_TEXT_FUNCTION_MAX + 1, &size);
	if (!bytes)
		return MF_TEXT_FUNCTION_COMPUTES;
	if (!memchr(bytes, '\0', size))
		return size > MF_TEXT_FUNCTION_MAX ? MF_TEXT_FUNCTION_LONG : MF_TEXT_FUNCTION_COMPUTES;
	*text = (const char *)bytes;
	return MF_TEXT_FUNCTION_FOUND;
}
