// SPDX-License-Identifier: GPL-2.0
// The words that attaching changes: how many there may be, and how many earlier copies of the shim are recognised. The
// objects of the process are the test's own.

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "core/definitions.h"
#include "core/libc.h"
#include "core/own_memory.h"
#include "core/real.h"
#include "core/scope.h"
#include "core/session.h"
#include "patch/deepbind.h"
#include "patch/slots.h"
#include "protocol/late.h"

#define COPIES	   64u /* COPIES_MAX in preload/patch/slots.c */
#define COPY_BYTES 4096u
#define THEIRS	   0x5000u /* address of the C library's malloc */

/* The process has the shim, then copies of it from earlier attaches; and a program whose entries lead to the copies. */
static struct dl_phdr_info objects[1 + 10 * COPIES], program;
static unsigned int n_objects;
static uint64_t entries[10 * COPIES];
static ElfW(Rela) relocations[10 * COPIES];
static ElfW(Sym) symbols[2];

/* Replacements for the functions that slots.c calls. */

bool mf_libc_has_dlsym;
struct mf_store mf_session_store;

int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data);

int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int code = 0;

	for (unsigned int i = 0; i < n_objects && !code; i++)
		code = visit(&objects[i], sizeof(objects[i]), data);
	return code;
}

bool mf_definitions_open(struct mf_definitions *definitions, const struct dl_phdr_info *object)
{
	*definitions = (struct mf_definitions){
		.object = object, .symbols = symbols, .names = "malloc",
		.soname = object == &program ? NULL : "libmassif-preload.so",
		.relocations = { { relocations, sizeof(relocations) } },
	};
	return true;
}

/* A copy has the addresses of its own page, the program its entries, and the shim all others. */
bool mf_definitions_is_mapped(const struct dl_phdr_info *object, uint32_t rights, uint64_t address, uint64_t size)
{
	if (object == &program)
		return address - (uintptr_t)entries < sizeof(entries);
	if (object != objects)
		return address - object->dlpi_addr < COPY_BYTES;
	return address >= (10 * COPIES + 1) * (uint64_t)COPY_BYTES * 16;
}

void mf_definitions_find(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data)
{
	const struct mf_definition definition = { .address = &program, .name = number };

	if (definitions->object == objects && !strcmp(name, "malloc"))
		found(&definition, data);
}

void *mf_real_look_up(const char *symbol)
{
	return strcmp(symbol, "malloc") ? NULL : (void *)(uintptr_t)THEIRS;
}

void *mf_scope_look_up(const struct dl_phdr_info *object, void *handle, const char *name)
{
	return NULL;
}

void mf_deepbind_bind(const struct mf_definitions *object, const char *name, const void *ours)
{
}

void mf_own_memory_add(size_t bytes)
{
}

void mf_own_memory_note(const void *at, size_t bytes)
{
}

FIXTURE(slots) {
	const struct mf_late_word *words;
	uint32_t n;
	const char *reason;
};

FIXTURE_VARIANT(slots) {
	unsigned int times, more; /* so many times the limit, and more */
};

FIXTURE_VARIANT_ADD(slots, at_the_limit) { 1, 0 };
FIXTURE_VARIANT_ADD(slots, one_more) { 1, 1 };
FIXTURE_VARIANT_ADD(slots, ten_times) { 10, 0 };

FIXTURE_SETUP(slots)
{
	n_objects = 1;
	symbols[1].st_name = 0;
}

FIXTURE_TEARDOWN(slots)
{
}

TEST_F(slots, words)
{
	uint32_t n = variant->times * MF_LATE_WORDS_MAX + variant->more;
	bool fits = n == MF_LATE_WORDS_MAX;
	static uint64_t word = 3;

	mf_slots_begin();
	for (uint32_t i = 0; i < n; i++)
		mf_slots_add((uintptr_t)&word, i);
	EXPECT_EQ(fits ? 0 : -E2BIG, mf_slots_end(&self->words, &self->n, &self->reason));
	EXPECT_EQ(!fits, self->reason && strstr(self->reason, "through too many words"));
	ASSERT_EQ(MF_LATE_WORDS_MAX, self->n);
	EXPECT_EQ(MF_LATE_WORDS_MAX - 1, self->words[self->n - 1].fresh);
	EXPECT_EQ(3, self->words[self->n - 1].old);
}

/* Each copy is at a page of its own, with fifteen others between. One entry of the program leads to each. */
TEST_F(slots, copies_of_the_shim)
{
	unsigned int n = variant->times * COPIES + variant->more;

	n_objects = n + 1;
	for (unsigned int i = 0; i < n; i++) {
		objects[i + 1].dlpi_addr = (i + 1) * (uint64_t)COPY_BYTES * 16;
		entries[i] = objects[i + 1].dlpi_addr + 8;
		relocations[i] = (ElfW(Rela)){ (uintptr_t)&entries[i], ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0 };
	}
	mf_slots_begin();
	mf_slots_arrived(&program);
	EXPECT_EQ(0, mf_slots_end(&self->words, &self->n, &self->reason));
	ASSERT_EQ(COPIES, self->n);
	for (unsigned int i = 0; i < COPIES; i++) {
		EXPECT_EQ((uintptr_t)&entries[i], self->words[i].address);
		EXPECT_EQ((uintptr_t)&program, self->words[i].fresh);
	}
}

TEST_HARNESS_MAIN
