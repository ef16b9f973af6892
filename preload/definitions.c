// SPDX-License-Identifier: GPL-2.0
// What functions of given names an object defines.
//
// The dynamic linker's own tables are in memory. The other symbol table is in the file only, which is
// read as it is found at its path; if that is another one by now, its program headers tell.

#include "definitions.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where @value points to. The dynamic linker has made addresses of most of them, but not of the vdso's. */
static const void *pointer_of(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

bool mf_definitions_open(struct mf_definitions *definitions, const struct dl_phdr_info *object)
{
	const ElfW(Dyn) *entry = NULL;
	ElfW(Xword) soname = 0;

	*definitions = (struct mf_definitions){ .object = object };
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			definitions->symbols = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			definitions->names = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			definitions->gnu_hash = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			definitions->hash = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_RELA:
			definitions->relocations[0].table = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			definitions->relocations[0].size = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			definitions->relocations[1].table = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			definitions->relocations[1].size = entry->d_un.d_val;
			break;
		case DT_SONAME:
			soname = entry->d_un.d_val;
			break;
		}
	}
	if (soname && definitions->names)
		definitions->soname = definitions->names + soname;
	return definitions->symbols && definitions->names;
}

/* Whether so many bytes at @address are the object's, in memory of at least these @rights (PF_...). */
static bool is_there(const struct dl_phdr_info *object, uint32_t rights, uint64_t address,
		     uint64_t size)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uint64_t at = address - object->dlpi_addr - header->p_vaddr;

		if (header->p_type == PT_LOAD && (header->p_flags & rights) == rights &&
		    at < header->p_filesz && size <= header->p_filesz - at)
			return true;
	}
	return false;
}

static bool is_function(const ElfW(Sym) *symbol)
{
	uint32_t type = ELF64_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static void tell(const struct mf_definitions *definitions, const ElfW(Sym) *symbol, uint32_t number,
		 bool locals, mf_definitions_found *found, void *data)
{
	uint64_t address = definitions->object->dlpi_addr + symbol->st_value;
	uint32_t binding = ELF64_ST_BIND(symbol->st_info);

	if (!is_function(symbol) || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value || (!locals && binding != STB_GLOBAL && binding != STB_WEAK) ||
	    !is_there(definitions->object, PF_R | PF_X, address, symbol->st_size))
		return;
	found(&(struct mf_definition){
		      .address = (void *)(uintptr_t)address,
		      .size = symbol->st_size,
		      .name = number,
		      .chosen_late = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	      },
	      data);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* A name can have several definitions, of different versions. */
static void find_by_gnu_hash(const struct mf_definitions *definitions, const char *name,
			     uint32_t number, mf_definitions_found *found, void *data)
{
	const uint32_t *table = definitions->gnu_hash;
	uint32_t n_buckets = table[0], first = table[1], n_words = table[2], shift = table[3];
	const ElfW(Addr) *filter = (const void *)(table + 4);
	const uint32_t *buckets = (const void *)(filter + n_words), *chains = buckets + n_buckets;
	uint32_t hash = gnu_hash_of(name), bits = 8 * sizeof(*filter), i;
	ElfW(Addr) word;

	if (!n_buckets || !n_words)
		return;
	word = filter[hash / bits % n_words];
	if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1))
		return;
	i = buckets[hash % n_buckets];
	if (i < first)
		return;
	do {
		const ElfW(Sym) *symbol = &definitions->symbols[i];

		if ((chains[i - first] | 1) == (hash | 1) &&
		    !strcmp(definitions->names + symbol->st_name, name))
			tell(definitions, symbol, number, false, found, data);
	} while (!(chains[i++ - first] & 1));
}

static void find_by_hash(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data)
{
	const ElfW(Word) *table = definitions->hash;
	uint32_t n_buckets = table[0];
	const ElfW(Word) *chains = table + 2 + n_buckets;

	if (!n_buckets)
		return;
	for (uint32_t i = table[2 + hash_of(name) % n_buckets]; i; i = chains[i])
		if (!strcmp(definitions->names + definitions->symbols[i].st_name, name))
			tell(definitions, &definitions->symbols[i], number, false, found, data);
}

void mf_definitions_find(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data)
{
	if (definitions->gnu_hash)
		find_by_gnu_hash(definitions, name, number, found, data);
	else if (definitions->hash)
		find_by_hash(definitions, name, number, found, data);
}

/* An object's file in memory. */
struct file {
	const unsigned char *bytes;
	uint64_t size;
};

static bool has(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/*
 * Is it what @object was loaded from? Not where the dynamic linker was executed with a program's name, and
 * is what /proc/self/exe leads to; nor where a file was exchanged. Notes have the build id.
 */
static bool is_of(const struct file *file, const struct dl_phdr_info *object)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;
	size_t size = object->dlpi_phnum * sizeof(ElfW(Phdr));

	if (!has(file, 0, sizeof(*header)) || header->e_phentsize != sizeof(ElfW(Phdr)) ||
	    header->e_phnum != object->dlpi_phnum || !has(file, header->e_phoff, size) ||
	    memcmp(file->bytes + header->e_phoff, object->dlpi_phdr, size))
		return false;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *note = &object->dlpi_phdr[i];
		uint64_t address = object->dlpi_addr + note->p_vaddr;

		if (note->p_type == PT_NOTE &&
		    (!has(file, note->p_offset, note->p_filesz) ||
		     !is_there(object, PF_R, address, note->p_filesz) ||
		     memcmp(file->bytes + note->p_offset, (const void *)(uintptr_t)address,
			    note->p_filesz)))
			return false;
	}
	return true;
}

/* By bare system calls: others may have functions of these names. */
static bool map_file(struct file *file, const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	if (bytes == MAP_FAILED)
		return false;
	*file = (struct file){ .bytes = bytes, .size = (uint64_t)st.st_size };
	return true;
}

/* A set of names, of which most that others ask about are told by four characters to be none. */
#define BEGINNING 4u

struct wanted {
	const char *const *names;
	uint32_t n;
	bool beginnings[1u << 10]; /* by their hash: is there such a name? */
};

static uint32_t beginning_of(const char *name)
{
	uint32_t word;

	memcpy(&word, name, BEGINNING);
	return word * 0x9e3779b1u >> 22;
}

/* All of them have as many characters. */
static struct wanted want(const char *const *names, uint32_t n)
{
	struct wanted wanted = { .names = names, .n = n };

	for (uint32_t i = 0; i < n; i++)
		wanted.beginnings[beginning_of(names[i])] = true;
	return wanted;
}

/*
 * The number of @name, of which @size bytes may be read, and where a version may follow; the number of all:
 * it is none of them.
 */
static uint32_t number_of(const struct wanted *wanted, const char *name, uint64_t size)
{
	size_t length;

	if (size < BEGINNING || !wanted->beginnings[beginning_of(name)])
		return wanted->n;
	length = strcspn(name, "@");
	for (uint32_t i = 0; i < wanted->n; i++)
		if (!strncmp(wanted->names[i], name, length) && !wanted->names[i][length])
			return i;
	return wanted->n;
}

static void find_in_section(const struct mf_definitions *definitions, const struct file *file,
			    const ElfW(Shdr) *table, const ElfW(Shdr) *strings,
			    const char *const *names, uint32_t n, bool locals,
			    mf_definitions_found *found, void *data)
{
	const struct wanted wanted = want(names, n);
	const ElfW(Sym) *symbols;
	const char *text;

	if (!has(file, table->sh_offset, table->sh_size) || table->sh_offset % _Alignof(ElfW(Sym)) ||
	    !has(file, strings->sh_offset, strings->sh_size) || !strings->sh_size)
		return;
	symbols = (const void *)(file->bytes + table->sh_offset);
	text = (const char *)file->bytes + strings->sh_offset;
	if (text[strings->sh_size - 1])
		return;
	for (uint64_t i = 1; i < table->sh_size / sizeof(*symbols); i++) {
		uint32_t number = n;

		if (symbols[i].st_shndx != SHN_UNDEF && is_function(&symbols[i]) &&
		    symbols[i].st_name < strings->sh_size)
			number = number_of(&wanted, text + symbols[i].st_name,
					   strings->sh_size - symbols[i].st_name);
		if (number < n)
			tell(definitions, &symbols[i], number, locals, found, data);
	}
}

void mf_definitions_find_in_file(const struct mf_definitions *definitions, const char *const *names,
				 uint32_t n, bool locals, mf_definitions_found *found, void *data)
{
	const char *path = definitions->object->dlpi_name;
	const ElfW(Ehdr) *header;
	const ElfW(Shdr) *sections;
	int saved = errno;
	struct file file;

	if (!map_file(&file, *path ? path : "/proc/self/exe")) {
		errno = saved;
		return;
	}
	header = (const void *)file.bytes;
	if (is_of(&file, definitions->object) && header->e_shentsize == sizeof(*sections) &&
	    header->e_shoff % _Alignof(ElfW(Shdr)) == 0 &&
	    has(&file, header->e_shoff, header->e_shnum * sizeof(*sections))) {
		sections = (const void *)(file.bytes + header->e_shoff);
		for (uint32_t i = 0; i < header->e_shnum; i++)
			if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
				find_in_section(definitions, &file, &sections[i],
						&sections[sections[i].sh_link], names, n, locals,
						found, data);
	}
	munmap((void *)(uintptr_t)file.bytes, file.size);
	errno = saved;
}
