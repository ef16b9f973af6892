// SPDX-License-Identifier: GPL-2.0
// Computes how much of the process's address space belongs to the shim: its image, the session memory and later
// mappings.

#include "own_memory.h"

#include <elf.h>
#include <link.h>

#include "model/own_ranges.h"
#include "protocol/join.h"
#include "session.h"

#define PAGE_BYTES 4096u

/* The shim's ELF header and the end of its image; defined by the linker. */
extern const ElfW(Ehdr) __ehdr_start MF_HIDDEN;
extern const char _end[] MF_HIDDEN;

static uint64_t added;	    /* bytes of writable memory that the shim has mapped; accessed atomically */
static uint64_t added_code; /* bytes of memory that the shim has mapped for code; accessed atomically */

static uint64_t page_of(uint64_t address)
{
	return address & ~(uint64_t)(PAGE_BYTES - 1);
}

static uint64_t image_start(void)
{
	return (uintptr_t)&__ehdr_start;
}

static uint64_t image_end(void)
{
	return page_of((uintptr_t)_end + PAGE_BYTES - 1);
}

/*
 * Returns how many bytes of the shim's image the kernel counts as data: the writable segments, without the pages that
 * the dynamic linker makes read-only after relocation.
 */
static uint64_t image_data(void)
{
	const ElfW(Phdr) *segment = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++, segment++) {
		uint64_t start = page_of(segment->p_vaddr), end = segment->p_vaddr + segment->p_memsz;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
			bytes += page_of(end + PAGE_BYTES - 1) - start;
		else if (segment->p_type == PT_GNU_RELRO)
			bytes -= page_of(end) - start;
	}
	return bytes;
}

uint64_t mf_own_memory_address_space(void)
{
	uint64_t bytes = image_end() - image_start() + __atomic_load_n(&added_code, __ATOMIC_RELAXED) +
			 __atomic_load_n(&added, __ATOMIC_RELAXED) + MF_JOIN_PAGE_BYTES;

	for (int i = 0; i < MF_REGION_COUNT; i++)
		bytes += mf_session_store.sizes[i];
	return bytes;
}

uint64_t mf_own_memory_data(void)
{
	return image_data() + __atomic_load_n(&added, __ATOMIC_RELAXED);
}

void mf_own_memory_add(size_t bytes)
{
	__atomic_add_fetch(&added, bytes, __ATOMIC_RELAXED);
}

void mf_own_memory_add_code(size_t bytes)
{
	__atomic_add_fetch(&added_code, bytes, __ATOMIC_RELAXED);
}

void mf_own_memory_note(const void *at, size_t bytes)
{
	if (mf_session_store.header)
		mf_own_ranges_note(mf_session_store.header, (uintptr_t)at, (uintptr_t)at + bytes);
}

void mf_own_memory_forget(const void *at)
{
	if (mf_session_store.header)
		mf_own_ranges_forget(mf_session_store.header, (uintptr_t)at);
}

void mf_own_memory_note_image(void)
{
	mf_own_memory_note(&__ehdr_start, image_end() - image_start());
	/* A forked child has private memory in this place. */
	mf_own_memory_note(mf_session_store.regions[MF_REGION_THREADS], mf_session_store.sizes[MF_REGION_THREADS]);
}

bool mf_own_memory_has(uint64_t address)
{
	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (address - (uintptr_t)mf_session_store.regions[i] < mf_session_store.sizes[i])
			return true;
	return address - image_start() < image_end() - image_start();
}
