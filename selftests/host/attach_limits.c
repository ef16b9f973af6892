// SPDX-License-Identifier: GPL-2.0
// Limits for what massif-ctl attach --heap reads from a process before it loads the shim: a C library and a dynamic linker
// that the test has written, at each limit, with one more, and with ten times as many.

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/inject/target.h"
#include "ctl/inject/words.h"
#include "protocol/late.h"
#include "selftests/lib/ctl_run.h"

#define LIBC	"libc.so.6"
#define LINKER	"ld-linux-x86-64.so.2"
#define TOO_OLD "too old"
#define NOT_ELF "cannot be read"

/* The positions in both files, which are the addresses as well. There is room for ten times what is allowed. */
#define DYNAMIC 0x10000u
#define NAMES	0x30000u
#define SYMBOLS 0x40000u
#define HASH	0x140000u
#define END	0x180000u

/* The numbers of segments, entries and symbols that come before those that are searched for, in both files. */
struct fake {
	unsigned int segments, entries, symbols;
	uint64_t linker_bytes; /* size of _rtld_global */
	uint64_t ret_at;       /* where the first return instruction of the C library is */
};

static const struct fake usual = { .linker_bytes = 4096, .ret_at = END - 1 };

static const char *const names[] = { "dlopen", "dlsym", "dlerror", "__errno_location", "_rtld_global", "_dl_find_object" };

enum { FUNCTIONS = sizeof(names) / sizeof(names[0]), LINKER_STATE = 4 };

FIXTURE(fake) {
	struct fake fake;
	struct mf_target target;
	struct mf_error err;
};

FIXTURE_SETUP(fake)
{
	self->fake = usual;
}

FIXTURE_TEARDOWN(fake)
{
	unlink(LIBC);
	unlink(LINKER);
}

static void write_at(FILE *out, uint64_t at, const void *bytes, size_t size)
{
	fseek(out, (long)at, SEEK_SET);
	fwrite(bytes, 1, size, out);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static void write_headers(FILE *out, const struct fake *fake, uint64_t size)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (Elf64_Half)(fake->segments + 2),
	};
	const Elf64_Phdr other = { .p_type = PT_NULL };
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = size, .p_memsz = size },
		{ .p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_vaddr = DYNAMIC },
	};

	write_at(out, 0, &header, sizeof(header));
	for (unsigned int i = 0; i < fake->segments; i++)
		write_at(out, sizeof(header) + i * sizeof(other), &other, sizeof(other));
	write_at(out, sizeof(header) + fake->segments * sizeof(other), segments, sizeof(segments));
}

static void write_dynamic(FILE *out, const struct fake *fake)
{
	const Elf64_Dyn other = { .d_tag = DT_DEBUG };
	const Elf64_Dyn entries[] = {
		{ DT_SYMTAB, { SYMBOLS } }, { DT_STRTAB, { NAMES } }, { DT_GNU_HASH, { HASH } }, { DT_NULL, { 0 } },
	};

	for (unsigned int i = 0; i < fake->entries; i++)
		write_at(out, DYNAMIC + i * sizeof(other), &other, sizeof(other));
	write_at(out, DYNAMIC + fake->entries * sizeof(other), entries, sizeof(entries));
}

/* All symbols are in one chain, whose last one has a mark. Symbol 0 is none. */
static void write_symbols(FILE *out, const struct fake *fake)
{
	const uint32_t table[] = { 1, 1, 0, 0, 1 };

	write_at(out, HASH, table, sizeof(table));
	for (unsigned int i = 0; i < fake->symbols + FUNCTIONS; i++) {
		unsigned int number = i < fake->symbols ? 0 : i - fake->symbols;
		const Elf64_Sym symbol = {
			.st_name = number * 32, .st_value = 16, .st_size = fake->linker_bytes, .st_shndx = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, number == LINKER_STATE ? STT_OBJECT : STT_FUNC),
		};
		const uint32_t chain = i < fake->symbols ? 2 : (hash_of(names[number]) & ~1u) | (number == FUNCTIONS - 1);

		write_at(out, SYMBOLS + (i + 1) * sizeof(symbol), &symbol, sizeof(symbol));
		write_at(out, HASH + sizeof(table) + i * sizeof(chain), &chain, sizeof(chain));
	}
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		write_at(out, NAMES + i * 32, names[i], strlen(names[i]) + 1);
}

static void write_library(const char *path, const struct fake *fake)
{
	uint64_t size = fake->ret_at + 1 > END ? fake->ret_at + 1 : END;
	FILE *out = fopen(path, "w");

	if (!out)
		return;
	write_headers(out, fake, size);
	write_dynamic(out, fake);
	write_symbols(out, fake);
	write_at(out, END - 1, "", 1);
	write_at(out, fake->ret_at, "\xc3", 1);
	fclose(out);
}

/* Inspects a process that has mapped the two files. Returns 0 or -errno, or 1 if the process did not start. */
static int inspect(struct _test_data_fake *self)
{
	char text[8] = "";
	int out[2], code = 1;
	pid_t pid;

	unlink(LIBC);
	unlink(LINKER);
	write_library(LIBC, &self->fake);
	write_library(LINKER, &self->fake);
	if (pipe2(out, O_CLOEXEC))
		return 1;
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execl(ctl_target("attach_fake"), "attach_fake", LIBC, LINKER, NULL);
		_exit(127);
	}
	close(out[1]);
	self->err.text[0] = '\0';
	self->target = (struct mf_target){ .pid = pid };
	if (read(out[0], text, sizeof(text)) > 0)
		code = mf_target_inspect(&self->target, &self->err);
	close(out[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return code;
}

/*
 * Inspects processes with *@number at @limit, at one more and ten times as large. The limit is for the last thing that is
 * looked for; so many as @others are counted with it. What is beyond is refused with a message that contains @words.
 */
static void expect_limit(struct __test_metadata *_metadata, struct _test_data_fake *self, unsigned int *number,
			 unsigned int limit, unsigned int others, const char *words)
{
	const unsigned int numbers[] = { limit, limit + 1, 10 * limit };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int code;

		*number = numbers[i] - others;
		code = inspect(self);
		EXPECT_EQ(i > 0, code < 0) {
			TH_LOG("%u: %d %s", numbers[i], code, self->err.text);
		}
		EXPECT_NE(1, code);
		if (i)
			EXPECT_NE(NULL, strstr(self->err.text, words)) {
				TH_LOG("%u: %s", numbers[i], self->err.text);
			}
	}
}

TEST_F(fake, segments)
{
	expect_limit(_metadata, self, &self->fake.segments, 64, 2, NOT_ELF);
}

/* The entry of the hash table is the last of three. */
TEST_F(fake, entries_of_the_dynamic_section)
{
	expect_limit(_metadata, self, &self->fake.entries, 512, 3, NOT_ELF);
}

TEST_F(fake, symbols_in_a_chain)
{
	expect_limit(_metadata, self, &self->fake.symbols, 4096, FUNCTIONS, TOO_OLD);
}

TEST_F(fake, variables_of_the_linker)
{
	static const uint64_t sizes[] = { 65536, 65537, 655360 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		self->fake.linker_bytes = sizes[i];
		EXPECT_EQ(i ? -EOPNOTSUPP : 0, inspect(self)) {
			TH_LOG("%s", self->err.text);
		}
		EXPECT_EQ(i != 0, strstr(self->err.text, TOO_OLD) != NULL);
	}
}

/*
 * 64 MiB are read in pieces of 64 KiB, each of which begins with the last 64 bytes of the piece before. The return
 * instruction is the last byte that is searched, the next one, and ten times as far away.
 */
TEST_F_TIMEOUT(fake, bytes_of_code, 60)
{
	const uint64_t searched = 1023 * (65536 - 64) + 65536;
	const uint64_t at[] = { searched - 1, searched, 10 * searched };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		self->fake.ret_at = at[i];
		EXPECT_EQ(i ? -EOPNOTSUPP : 0, inspect(self)) {
			TH_LOG("%s", self->err.text);
		}
		EXPECT_EQ(i != 0, strstr(self->err.text, TOO_OLD) != NULL);
	}
}

/* The list of words, which the shim's answer names. */
TEST_F(fake, words_of_an_answer)
{
	static const uint32_t numbers[] = { MF_LATE_WORDS_MAX, MF_LATE_WORDS_MAX + 1, 10 * MF_LATE_WORDS_MAX };
	struct mf_late_word *list = calloc(10 * MF_LATE_WORDS_MAX, sizeof(*list)), *words = NULL;

	ASSERT_NE(NULL, list);
	list[MF_LATE_WORDS_MAX - 1].address = 7;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct mf_late late = { .n_words = numbers[i], .words = (uintptr_t)list };

		EXPECT_EQ(i ? -EPROTO : 0, mf_words_read(getpid(), &late, &words, &self->err));
		if (!i) {
			ASSERT_NE(NULL, words);
			EXPECT_EQ(7, words[MF_LATE_WORDS_MAX - 1].address);
			free(words);
		}
	}
	free(list);
}

TEST_HARNESS_MAIN
