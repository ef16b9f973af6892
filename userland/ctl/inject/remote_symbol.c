// SPDX-License-Identifier: GPL-2.0
// Finds functions in an object that another process has mapped.
//
// The tables are read from the process's memory, so neither the object's file nor its path matters: the file may have
// been deleted, or be visible only in the process's mount namespace. Whatever the memory contains, the result is only
// ever used in that process.

#include "remote_symbol.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "tracee.h"

enum {
	SEGMENTS_MAX = 64,
	ENTRIES_MAX = 512, /* of the dynamic section */
	CHAIN_MAX = 4096,  /* symbols in one bucket of the hash table */
};

static bool read_dynamic(struct mf_remote_object *object, uint64_t at)
{
	uint64_t *const pointers[] = { &object->symbols, &object->names, &object->hash };
	ElfW(Dyn) entry = { 0 };

	for (int i = 0; i < ENTRIES_MAX; i++, at += sizeof(entry)) {
		if (!mf_tracee_read(object->pid, at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			object->symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			object->names = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_GNU_HASH)
			object->hash = entry.d_un.d_ptr;
	}
	/* The dynamic linker has relocated these pointers in most objects. */
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		if (!*pointers[i])
			return false;
		if (*pointers[i] < object->bias)
			*pointers[i] += object->bias;
	}
	return true;
}

bool mf_remote_object_open(struct mf_remote_object *object, pid_t pid, uint64_t base)
{
	uint64_t dynamic = 0, lowest = UINT64_MAX;
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;
	uint32_t table[4];

	*object = (struct mf_remote_object){ .pid = pid };
	if (!mf_tracee_read(pid, base, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segment) ||
	    header.e_phnum > SEGMENTS_MAX)
		return false;
	for (int i = 0; i < header.e_phnum; i++) {
		if (!mf_tracee_read(pid, base + header.e_phoff + (uint64_t)i * sizeof(segment), &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_LOAD && segment.p_vaddr < lowest)
			lowest = segment.p_vaddr;
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			object->code_end = segment.p_vaddr + segment.p_memsz;
		if (segment.p_type == PT_DYNAMIC)
			dynamic = segment.p_vaddr;
	}
	if (!dynamic || lowest == UINT64_MAX)
		return false;
	object->bias = base - (lowest & ~(uint64_t)4095);
	object->code_end += object->bias;
	if (!read_dynamic(object, object->bias + dynamic) ||
	    !mf_tracee_read(pid, object->hash, table, sizeof(table)))
		return false;
	object->n_buckets = table[0];
	object->first = table[1];
	object->n_bloom = table[2];
	return object->n_buckets;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool is_named(const struct mf_remote_object *object, uint32_t number, const char *name, unsigned int type,
		     ElfW(Sym) *symbol)
{
	size_t length = strlen(name) + 1;
	char text[64];

	return length <= sizeof(text) &&
	       mf_tracee_read(object->pid, object->symbols + (uint64_t)number * sizeof(*symbol), symbol, sizeof(*symbol)) &&
	       ELF64_ST_TYPE(symbol->st_info) == type && symbol->st_shndx != SHN_UNDEF &&
	       mf_tracee_read(object->pid, object->names + symbol->st_name, text, length) && !memcmp(text, name, length);
}

static bool find(const struct mf_remote_object *object, const char *name, unsigned int type, ElfW(Sym) *symbol)
{
	uint32_t hash = hash_of(name), number, chain;
	uint64_t buckets = object->hash + 16 + (uint64_t)object->n_bloom * 8;
	uint64_t chains = buckets + (uint64_t)object->n_buckets * 4;

	if (!mf_tracee_read(object->pid, buckets + (uint64_t)(hash % object->n_buckets) * 4, &number, sizeof(number)) ||
	    number < object->first)
		return false;
	for (int i = 0; i < CHAIN_MAX; i++, number++) {
		if (!mf_tracee_read(object->pid, chains + (uint64_t)(number - object->first) * 4, &chain, sizeof(chain)))
			return false;
		if ((chain | 1) == (hash | 1) && is_named(object, number, name, type, symbol))
			return true;
		if (chain & 1)
			return false;
	}
	return false;
}

uint64_t mf_remote_symbol(const struct mf_remote_object *object, const char *name)
{
	ElfW(Sym) symbol;

	return find(object, name, STT_FUNC, &symbol) ? object->bias + symbol.st_value : 0;
}

uint64_t mf_remote_variable(const struct mf_remote_object *object, const char *name, uint64_t *size)
{
	ElfW(Sym) symbol;

	if (!find(object, name, STT_OBJECT, &symbol))
		return 0;
	*size = symbol.st_size;
	return object->bias + symbol.st_value;
}
