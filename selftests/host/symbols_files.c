// SPDX-License-Identifier: GPL-2.0
// Finding symbols in files: aliases, replaced and damaged files, separate debug files, the vdso.

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "symbols/shared_file.h"
#include "symbols/symbolizer.h"
#include "symbols/truncation.h"

#include "selftests/lib/own_build_id.h"

/* Functions of 16 bytes each, in assembly. */
__asm__(".macro begin name type=function size=16\n"
	".globl \\name\n"
	".type \\name, @\\type\n"
	".size \\name, \\size\n"
	"\\name:\n"
	".endm\n"
	".macro body\n"
	".fill 16, 1, 0x90\n"
	".endm\n"
	".text\n"
	".balign 16\n"
	".globl symbols_code\n"
	"symbols_code:\n"
	"begin at_00\n"		     "body\n"
	"begin at_10_long\n"	     "begin at_10\n"	   "body\n"
	"begin at_20_b\n"	     "begin at_20_a\n"	   "body\n"
	"begin at_30_no_size function 0\n"		   "body\n"
	"begin at_40_no_type notype\n"			   "body\n"
	"begin at_50_data object\n"			   "body\n"
	"begin at_60_outer function 48\n"		   "body\n"
	"begin at_70_inner\n"				   "body\n"
	/* The last 16 bytes of the function at_60_outer. */	   "body\n"
	"begin at_90_longer function 32\n" "begin at_90_long_name\n" "body\n"
	/* The last 16 bytes of the function at_90_longer. */		   "body\n"
	"begin at_b0_version\n"				   "begin at_b0_unversion\n"
	".symver at_b0_version, at_b0_vvvvvvv@V_1\n"	   "body\n"
	"begin _ZN2at8functionC4Ev\n"			   "body\n"
	"begin _RNvC2at8function\n"			   "body\n"
	"begin _ZN2at4rust17h0123456789abcdefE\n"	   "body\n");
extern const char symbols_code[];
extern const Elf64_Ehdr __ehdr_start;

static const struct {
	uint64_t offset;
	const char *function;
	uint64_t from_start;
} known[] = {
	{ 0x00, "at_00", 0 },
	{ 0x0f, "at_00", 15 },
	{ 0x10, "at_10", 0 },
	{ 0x20, "at_20_a", 0 },
	{ 0x38, NULL, 0 },
	{ 0x48, NULL, 0 },
	{ 0x58, "at_50_data", 8 },
	{ 0x68, "at_60_outer", 8 },
	{ 0x78, "at_70_inner", 8 },
	{ 0x88, NULL, 0 },
	{ 0x98, "at_90_long_name", 8 },
	{ 0xa8, "at_90_longer", 24 },
	/*
	 * If two symbols have names of equal length (not counting the symbol version), the symbol with a version is
	 * used.
	 */
	{ 0xb8, "at_b0_vvvvvvv@V_1", 8 },
	{ 0xc8, "at::function::function()", 8 },
	{ 0xd8, "at::function", 8 },
	{ 0xe8, "at::rust", 8 },
};

/* Object 0 is the unknown object. Object 1 is this program's file, at the addresses where it is loaded. */
FIXTURE(files)
{
	char program[PATH_MAX];
	struct mf_object objects[2];
	struct mf_symbolizer *symbolizer;
};

FIXTURE_SETUP(files)
{
	ssize_t length = readlink("/proc/self/exe", self->program, sizeof(self->program) - 1);

	ASSERT_LT(0, length);
	self->program[length] = '\0';
	memset(self->objects, 0, sizeof(self->objects));
	self->objects[1].kind = MF_OBJECT_FILE;
	self->objects[1].path = self->program;
	self->objects[1].end = UINT64_MAX;
	if (__ehdr_start.e_type == ET_DYN)
		self->objects[1].bias = (uintptr_t)&__ehdr_start;
	self->symbolizer = NULL;
}

FIXTURE_TEARDOWN(files)
{
	mf_symbolizer_destroy(self->symbolizer);
}

static struct mf_location resolve(FIXTURE_DATA(files) *self, uint64_t pc)
{
	const struct mf_symbolizer_options options = { .demangle = true, .inlines = true };
	const struct mf_location *locations = NULL;
	size_t count;

	if (!self->symbolizer &&
	    mf_symbolizer_create(self->objects, 2, &options, &self->symbolizer, NULL))
		return (struct mf_location){ 0 };
	count = mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ pc, 1 }, &locations);
	return locations[count - 1];
}

static struct mf_location resolve_once(FIXTURE_DATA(files) *self, uint64_t pc)
{
	struct mf_location location;

	mf_symbolizer_destroy(self->symbolizer);
	self->symbolizer = NULL;
	location = resolve(self, pc);
	return location;
}

TEST_F(files, symbols)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		uint64_t pc = (uintptr_t)symbols_code + known[i].offset;
		struct mf_location location = resolve(self, pc);

		EXPECT_STREQ(known[i].function ?: "(none)", location.function ?: "(none)") {
			TH_LOG("at %#llx", (unsigned long long)known[i].offset);
		}
		EXPECT_EQ(known[i].from_start, location.offset);
		EXPECT_STREQ(self->program, location.object);
		EXPECT_EQ(location.function,
			  mf_symbolizer_function(self->symbolizer, (struct mf_frame){ pc, 1 }));
	}
}

/* The debug information contains a line number for this function. */
TEST_F(files, lines)
{
	struct mf_location location = resolve(self, (uintptr_t)resolve);

	EXPECT_STREQ("resolve", location.function);
	EXPECT_STREQ("symbols_files.c", location.file);
	EXPECT_LT(0, location.line);
}

/* A file that has been replaced since the program mapped it must not yield wrong names. */
TEST_F(files, another_build_id)
{
	self->objects[1].build_id_size = 20;
	EXPECT_FALSE(resolve(self, (uintptr_t)resolve).function);
	EXPECT_FALSE(resolve(self, (uintptr_t)resolve).file);
	EXPECT_STREQ(self->program, resolve(self, (uintptr_t)resolve).object);
}

TEST_F(files, what_is_no_file)
{
	struct mf_location location;

	self->objects[1].kind = MF_OBJECT_NOTE;
	self->objects[1].path = "[heap]";
	location = resolve_once(self, 0);
	EXPECT_STREQ("[heap]", location.note);
	EXPECT_FALSE(location.function || location.file || location.object);

	self->objects[1].kind = MF_OBJECT_UNKNOWN;
	location = resolve_once(self, (uintptr_t)resolve);
	EXPECT_FALSE(location.note || location.function || location.file || location.object);
}

TEST_F(files, vdso)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	bool found = false;

	if (!base)
		SKIP(return, "this kernel maps no vdso");
	self->objects[1].kind = MF_OBJECT_VDSO;
	self->objects[1].path = "[vdso]";
	self->objects[1].bias = base;
	for (uint64_t at = 0; at < 8192 && !found; at += 4) {
		struct mf_location location = resolve(self, base + at);

		found = location.function && strstr(location.function, "clock_gettime");
		EXPECT_STREQ("[vdso]", location.object);
	}
	EXPECT_TRUE(found);
	/* In a recording of another kernel, it has another build id. */
	self->objects[1].build_id_size = 20;
	EXPECT_EQ(NULL, resolve_once(self, base).function);
	for (uint64_t at = 0; at < 8192; at += 4)
		EXPECT_EQ(NULL, resolve(self, base + at).function);
}

/* Writes an ELF file with one section of @before bytes of other notes and, at its end, the build id "12345678". */
static int make_noted(size_t before)
{
	const Elf64_Nhdr other = { .n_namesz = 4, .n_descsz = (Elf64_Word)(before - sizeof(other) - 4), .n_type = 77 };
	const Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID };
	const Elf64_Shdr section = {
		.sh_type = SHT_NOTE, .sh_offset = 4096, .sh_size = before + sizeof(note) + 4 + 8,
	};
	Elf64_Ehdr header = { .e_shoff = sizeof(header), .e_shentsize = sizeof(section), .e_shnum = 1 };
	int fd = memfd_create("noted", MFD_CLOEXEC);
	off_t at = 4096;

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	if (pwrite(fd, &header, sizeof(header), 0) < 0 || pwrite(fd, &section, sizeof(section), sizeof(header)) < 0 ||
	    pwrite(fd, &other, sizeof(other), at) < 0 || pwrite(fd, "GNU", 4, at + (off_t)sizeof(other)) < 0)
		abort();
	at += (off_t)before;
	if (pwrite(fd, &note, sizeof(note), at) < 0 || pwrite(fd, "GNU", 4, at + (off_t)sizeof(note)) < 0 ||
	    pwrite(fd, "12345678", 8, at + (off_t)sizeof(note) + 4) < 0)
		abort();
	return fd;
}

/* A shared file is the right one if its build id is, and that is looked for in the first 1,024 bytes of notes. */
TEST(notes_of_shared_files)
{
	static const struct mf_shared_file file = { .build_id = "12345678", .size = 8 };
	static const struct mf_shared_file other = { .build_id = "12345679", .size = 8 };
	const size_t last = 1024 - sizeof(Elf64_Nhdr) - 4 - 8;
	static const size_t beyond[] = { 4, 10 * 1024 };
	int fd = make_noted(last);

	EXPECT_TRUE(mf_shared_file_is(&file, fd));
	EXPECT_FALSE(mf_shared_file_is(&other, fd));
	close(fd);
	for (size_t i = 0; i < 2; i++) {
		fd = make_noted(last + beyond[i]);
		EXPECT_FALSE(mf_shared_file_is(&file, fd));
		close(fd);
	}
}

static bool copy_file(const char *from, const char *to, long long bytes)
{
	mf_auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	mf_auto_close int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char buffer[65536];
	ssize_t n;

	while (bytes > 0 && (n = read(in, buffer, sizeof(buffer))) > 0) {
		n = n < bytes ? n : bytes;
		if (write(out, buffer, (size_t)n) != n)
			return false;
		bytes -= n;
	}
	return in >= 0 && out >= 0;
}

TEST_F(files, what_cannot_be_read)
{
	static const char *const paths[] = { "missing", "fifo", "directory", "empty", "text",
					     "/dev/zero", "cut" };

	ASSERT_EQ(0, mkfifo("fifo", 0600));
	ASSERT_EQ(0, mkdir("directory", 0700));
	ASSERT_TRUE(copy_file("/dev/null", "empty", 1));
	ASSERT_TRUE(copy_file("/proc/version", "text", 4096));
	ASSERT_TRUE(copy_file(self->program, "cut", 8192));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		self->objects[1].path = paths[i];
		EXPECT_FALSE(resolve_once(self, (uintptr_t)resolve).function);
		EXPECT_STREQ(paths[i], resolve(self, (uintptr_t)resolve).object);
	}
}

/*
 * Whatever bytes the file contains, there is no crash and no endless loop. Half of the damage is in the headers, where
 * it has the greatest effect.
 */
TEST_F_TIMEOUT(files, damaged, 120)
{
	struct stat status;
	uint32_t random = 12345;

	ASSERT_EQ(0, stat(self->program, &status));
	self->objects[1].path = "damaged";
	for (int round = 0; round < 200; round++) {
		mf_auto_close int file = -1;

		ASSERT_TRUE(copy_file(self->program, "damaged", LLONG_MAX));
		file = open("damaged", O_WRONLY | O_CLOEXEC);
		ASSERT_LE(0, file);
		for (int i = 0; i < 200; i++) {
			unsigned char byte;
			off_t at;

			random = random * 1664525 + 1013904223;
			byte = (unsigned char)(random >> 24);
			at = random % (i & 1 && round & 1 ? 64 * 40 : status.st_size);
			if (i & 1 && round & 1)
				at = status.st_size - 64 * 40 + at;
			/* Do not damage the magic number; otherwise nothing else in the file would be read. */
			if (at < 6)
				continue;
			ASSERT_EQ(1, pwrite(file, &byte, 1, at));
		}
		mf_symbolizer_destroy(self->symbolizer);
		self->symbolizer = NULL;
		resolve(self, (uintptr_t)&__ehdr_start);
		for (uint64_t at = 0; at < 65536; at += 32)
			mf_symbolizer_want(self->symbolizer, (struct mf_frame){ (uintptr_t)&__ehdr_start + at, 1 });
		mf_symbolizer_prepare(self->symbolizer);
	}
}

/* Commands that create a stripped copy named "stripped", whose debug information is in a separate file. */
static const struct {
	const char *what, *commands;
	bool found;
} separate[] = {
	{ "beside it, with the build id", "objcopy --only-keep-debug whole stripped.debug &&"
	  "objcopy -S --add-gnu-debuglink=stripped.debug whole stripped", true },
	{ "beside it, with the checksum", "objcopy -R .note.gnu.build-id whole noid &&"
	  "objcopy --only-keep-debug noid stripped.debug &&"
	  "objcopy -S --add-gnu-debuglink=stripped.debug noid stripped", true },
	{ "in .debug", "objcopy --only-keep-debug whole stripped.debug &&"
	  "objcopy -S --add-gnu-debuglink=stripped.debug whole stripped && mkdir .debug &&"
	  "mv stripped.debug .debug", true },
	{ "nowhere", "objcopy -S whole stripped", false },
	{ "with another checksum", "objcopy -R .note.gnu.build-id whole noid &&"
	  "objcopy --only-keep-debug noid stripped.debug &&"
	  "objcopy -S --add-gnu-debuglink=stripped.debug noid stripped &&"
	  "printf x >> stripped.debug", false },
	{ "with another build id", "objcopy --only-keep-debug whole stripped.debug &&"
	  "objcopy -S --add-gnu-debuglink=stripped.debug whole stripped &&"
	  "cp \"$OTHER\" stripped.debug", false },
};

/* The file is truncated while it is being read: what has been read is kept, and the rest is unknown. */
TEST_F(files, cut_short)
{
	uint64_t pc = (uintptr_t)symbols_code;

	ASSERT_TRUE(copy_file(self->program, "cut_later", LLONG_MAX));
	self->objects[1].path = "cut_later";
	ASSERT_STREQ("at_00", resolve(self, pc).function);
	mf_symbolizer_destroy(self->symbolizer);
	self->symbolizer = NULL;

	ASSERT_EQ(0, mf_symbolizer_create(self->objects, 2, &(struct mf_symbolizer_options){ 0 },
					  &self->symbolizer, NULL));
	EXPECT_STREQ("at_00", mf_symbolizer_function(self->symbolizer, (struct mf_frame){ pc, 1 }));
	mf_truncation_endure();
	ASSERT_EQ(0, truncate("cut_later", 4096));
	EXPECT_EQ(NULL, resolve(self, (uintptr_t)copy_file).file);
	signal(SIGBUS, SIG_DFL);
	unlink("cut_later");
}


TEST_F(files, separate_debug_files)
{
	if (system("objcopy --version >tools 2>&1"))
		SKIP(return, "no objcopy");
	ASSERT_TRUE(copy_file(self->program, "whole", LLONG_MAX));
	ASSERT_EQ(0, setenv("OTHER", "/bin/true", 1));
	self->objects[1].path = "stripped";
	for (size_t i = 0; i < ARRAY_SIZE(separate); i++) {
		struct mf_location location;
		char commands[512];

		ASSERT_EQ(0, system("rm -rf stripped stripped.debug .debug noid"));
		/* objcopy prints a warning when the build id is removed. */
		snprintf(commands, sizeof(commands), "(%s) 2>>tools", separate[i].commands);
		ASSERT_EQ(0, system(commands));
		location = resolve_once(self, (uintptr_t)resolve);
		EXPECT_STREQ(separate[i].found ? "resolve" : "(none)",
			     location.function ?: "(none)") {
			TH_LOG("%s", separate[i].what);
		}
		EXPECT_EQ(separate[i].found, location.file != NULL);
	}
}

/*
 * Returns what a new symbolizer reports for @pc if a copy of @path is the only file from which it can read this
 * program's symbols. If @path is NULL, there is no such file.
 */
static struct mf_location resolve_next(FIXTURE_DATA(files) *self, struct mf_names *names,
				       const char *path, uint64_t pc)
{
	const struct mf_symbolizer_options options = { .demangle = true, .inlines = true,
						       .names = names };

	unlink("next");
	if (path && !copy_file(path, "next", LLONG_MAX))
		return (struct mf_location){ 0 };
	self->objects[1].path = "next";
	mf_symbolizer_destroy(self->symbolizer);
	self->symbolizer = NULL;
	if (mf_symbolizer_create(self->objects, 2, &options, &self->symbolizer, NULL))
		return (struct mf_location){ 0 };
	return resolve(self, pc);
}

/*
 * The names that a symbolizer finds in a file are kept in a struct mf_names, so the next symbolizer does not need the
 * file. It uses the kept names only for an object with the same build ID.
 */
TEST_F(files, names_for_the_next)
{
	struct mf_names *names = mf_names_create();
	const uint64_t pc = (uintptr_t)resolve;
	struct mf_location found, kept;

	ASSERT_NE(NULL, names);
	dl_iterate_phdr(own_build_id, &self->objects[1]);
	ASSERT_NE(0, self->objects[1].build_id_size);
	/*
	 * A struct mf_names keeps no names before mf_names_begin() is called for it. That function is not called if
	 * there is only one process.
	 */
	EXPECT_STREQ("resolve", resolve_next(self, names, self->program, pc).function ?: "(none)");
	EXPECT_STREQ("(none)", resolve_next(self, names, NULL, pc).function ?: "(none)");

	mf_names_begin(names);
	/* If a symbolizer cannot read the file, the failure is not cached, so the next symbolizer tries again. */
	EXPECT_STREQ("(none)", resolve_next(self, names, NULL, pc).function ?: "(none)");
	found = resolve_next(self, names, self->program, pc + 1);
	EXPECT_STREQ("resolve", found.function ?: "(none)");
	kept = resolve_next(self, names, NULL, pc + 1);
	EXPECT_STREQ("resolve", kept.function ?: "(none)");
	EXPECT_STREQ("symbols_files.c", kept.file ?: "(none)");
	EXPECT_NE(NULL, kept.directory);
	EXPECT_STREQ("next", kept.object ?: "(none)");
	EXPECT_EQ(found.line, kept.line);
	EXPECT_EQ(1, kept.offset);
	/*
	 * Only the function at this address is requested from the first symbolizer, so the names that are kept for the
	 * next symbolizer do not include the source file.
	 */
	resolve_next(self, names, self->program, pc + 1);
	mf_symbolizer_function(self->symbolizer, (struct mf_frame){ pc + 2, 1 });
	kept = resolve_next(self, names, NULL, pc + 2);
	EXPECT_STREQ("resolve", kept.function ?: "(none)");
	EXPECT_EQ(2, kept.offset);
	EXPECT_EQ(NULL, kept.file);
	/* Look up more addresses than the table of kept names has room for at first, so that the table must grow. */
	resolve_next(self, names, self->program, pc + 1);
	for (size_t at = 0; at < 4096; at++)
		resolve(self, (uintptr_t)symbols_code + at % 256 + at / 256 * 4096);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		kept = resolve_next(self, names, NULL, (uintptr_t)symbols_code + known[i].offset);
		EXPECT_STREQ(known[i].function ?: "(none)", kept.function ?: "(none)");
		EXPECT_EQ(known[i].from_start, kept.offset);
	}

	self->objects[1].build_id[0] ^= 1;
	EXPECT_STREQ("(none)", resolve_next(self, names, NULL, pc + 1).function ?: "(none)");
	self->objects[1].build_id_size = 0;
	EXPECT_STREQ("resolve", resolve_next(self, names, self->program, pc + 1).function ?: "(none)");
	EXPECT_STREQ("(none)", resolve_next(self, names, NULL, pc + 1).function ?: "(none)");
	mf_symbolizer_destroy(self->symbolizer);
	self->symbolizer = NULL;
	mf_names_destroy(names);
}

static const struct {
	const char *what, *format;
} compressed[] = {
	{ "as the ELF specification says", "zlib" },
	{ "as GNU's tools did before", "zlib-gnu" },
};

TEST_F(files, compressed)
{
	struct mf_location plain, squeezed;

	if (system("objcopy --version >tools 2>&1"))
		SKIP(return, "no objcopy");
	for (size_t i = 0; i < ARRAY_SIZE(compressed); i++) {
		char command[PATH_MAX + 128];

		snprintf(command, sizeof(command), "objcopy --compress-debug-sections=%s '%s' squeezed",
			 compressed[i].format, self->program);
		ASSERT_EQ(0, system(command));
		self->objects[1].path = self->program;
		plain = resolve_once(self, (uintptr_t)resolve);
		EXPECT_LT(0, plain.line);
		self->objects[1].path = "squeezed";
		squeezed = resolve_once(self, (uintptr_t)resolve);
		EXPECT_EQ(plain.line, squeezed.line) {
			TH_LOG("%s", compressed[i].what);
		}
		EXPECT_STREQ("symbols_files.c", squeezed.file ?: "(none)");
	}
}

/* Values that replace a field in the header of a compressed section, or bytes of its contents. */
static const struct {
	const char *what;
	uint64_t at; /* where @value is written, as an offset in the section */
	uint64_t value;
} squashed[] = {
	{ "no such method", offsetof(Elf64_Chdr, ch_type), 77 },
	{ "nothing in it", offsetof(Elf64_Chdr, ch_size), 0 },
	{ "less in it", offsetof(Elf64_Chdr, ch_size), 100 },
	{ "all memory in it", offsetof(Elf64_Chdr, ch_size), UINT64_MAX },
	{ "more than its bytes can stand for", offsetof(Elf64_Chdr, ch_size), 1ull << 40 },
	{ "no zlib's header", sizeof(Elf64_Chdr), 0 },
	{ "damaged", sizeof(Elf64_Chdr) + 16, 0x0123456789abcdef },
};

/* Returns the file offset of section @name in the ELF file @path; 0 if there is none. */
static uint64_t find_section(const char *path, const char *name)
{
	mf_auto_close int file = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr elf;
	Elf64_Shdr names, section;
	char found[64];

	if (pread(file, &elf, sizeof(elf), 0) != sizeof(elf) ||
	    pread(file, &names, sizeof(names),
		  (off_t)(elf.e_shoff + elf.e_shstrndx * sizeof(names))) != sizeof(names))
		return 0;
	for (unsigned int i = 0; i < elf.e_shnum; i++) {
		ssize_t n;

		if (pread(file, &section, sizeof(section),
			  (off_t)(elf.e_shoff + i * sizeof(section))) != sizeof(section))
			return 0;
		n = pread(file, found, sizeof(found) - 1,
			  (off_t)(names.sh_offset + section.sh_name));
		if (n <= 0)
			return 0;
		found[n] = '\0';
		if (strcmp(found, name) == 0)
			return section.sh_offset;
	}
	return 0;
}

/* If a debug section is damaged, line numbers may be lost, but function names must not be. */
TEST_F(files, compressed_and_damaged)
{
	static const char *const names[] = { ".debug_info", ".debug_line", ".debug_abbrev" };
	char command[PATH_MAX + 128];

	if (system("objcopy --version >tools 2>&1"))
		SKIP(return, "no objcopy");
	snprintf(command, sizeof(command), "objcopy --compress-debug-sections=zlib '%s' squeezed",
		 self->program);
	ASSERT_EQ(0, system(command));
	for (size_t i = 0; i < ARRAY_SIZE(squashed) * ARRAY_SIZE(names); i++) {
		const char *name = names[i % ARRAY_SIZE(names)];
		uint64_t value = squashed[i / ARRAY_SIZE(names)].value;
		uint64_t at = find_section("squeezed", name);
		mf_auto_close int file = -1;

		ASSERT_LT(0, at);
		ASSERT_TRUE(copy_file("squeezed", "squashed", LLONG_MAX));
		file = open("squashed", O_WRONLY | O_CLOEXEC);
		ASSERT_EQ(sizeof(value), pwrite(file, &value, sizeof(value),
						(off_t)(at + squashed[i / ARRAY_SIZE(names)].at)));
		self->objects[1].path = "squashed";
		EXPECT_STREQ("resolve", resolve_once(self, (uintptr_t)resolve).function ?: "(none)") {
			TH_LOG("%s: %s", name, squashed[i / ARRAY_SIZE(names)].what);
		}
	}
}

#define OBJECTS_MAX 32
#define ADDRESSES   400 /* number of addresses to look up in each object */

struct loaded {
	struct mf_object objects[OBJECTS_MAX];
	size_t count;
	uint64_t starts[OBJECTS_MAX], sizes[OBJECTS_MAX]; /* address ranges of the objects' code */
};

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loaded *loaded = data;
	struct mf_object *object = &loaded->objects[loaded->count];

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
		    loaded->count == OBJECTS_MAX)
			continue;
		*object = (struct mf_object){
			.kind = MF_OBJECT_FILE,
			.bias = info->dlpi_addr,
			.path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe",
		};
		loaded->starts[loaded->count] = info->dlpi_addr + header->p_vaddr;
		loaded->sizes[loaded->count++] = header->p_memsz;
		break;
	}
	return 0;
}

static struct mf_frame frame_of(const struct loaded *loaded, size_t object, size_t i)
{
	return (struct mf_frame){
		.pc = loaded->starts[object] + loaded->sizes[object] / ADDRESSES * i,
		.object = (uint32_t)object,
	};
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_location(const struct mf_location *a, const struct mf_location *b)
{
	return same_text(a->function, b->function) && same_text(a->directory, b->directory) &&
	       same_text(a->file, b->file) && a->line == b->line && a->offset == b->offset &&
	       same_text(a->object, b->object);
}

static size_t n_told;

static void count_progress(size_t done, size_t total)
{
	n_told++;
}

/*
 * mf_symbolizer_prepare() looks up many frames at once and reads the files in several threads. It must find the same
 * locations as mf_symbolizer_resolve(), which looks up one frame at a time.
 */
TEST_F(files, all_at_once_as_one_by_one)
{
	const struct mf_symbolizer_options options = { .demangle = true, .inlines = true,
						       .progress = count_progress };
	struct mf_symbolizer *alone, *together;
	struct loaded loaded = { .count = 1 };
	size_t lines = 0;

	dl_iterate_phdr(note_object, &loaded);
	ASSERT_LT(3, loaded.count);
	ASSERT_EQ(0, mf_symbolizer_create(loaded.objects, loaded.count, &options, &alone, NULL));
	ASSERT_EQ(0, mf_symbolizer_create(loaded.objects, loaded.count, &options, &together, NULL));
	for (size_t object = 0; object < loaded.count; object++) {
		for (size_t i = 0; i < ADDRESSES; i++)
			mf_symbolizer_want(together, frame_of(&loaded, object, i));
	}
	mf_symbolizer_prepare(together);
	for (size_t object = 0; object < loaded.count; object++) {
		for (size_t i = 0; i < ADDRESSES; i++) {
			struct mf_frame frame = frame_of(&loaded, object, i);
			const struct mf_location *a, *b;
			size_t n = mf_symbolizer_resolve(alone, frame, &a);

			ASSERT_EQ(n, mf_symbolizer_resolve(together, frame, &b));
			for (size_t k = 0; k < n; k++) {
				ASSERT_TRUE(same_location(&a[k], &b[k]));
				lines += a[k].line != 0;
			}
		}
	}
	/* Enough line numbers must have been found; otherwise the test proves nothing. */
	EXPECT_LT(ADDRESSES, lines);
	/* If progress is reported at all, there are at least two reports, because the end is reported, too. */
	EXPECT_NE(1, n_told);
	mf_symbolizer_destroy(alone);
	mf_symbolizer_destroy(together);
}

/* Names of an object that is not on this machine. Of the files that a search finds, only the one of its build is used. */
TEST_F(files, searched)
{
	mf_auto_free char *directory = strdup(self->program);
	const char *const directories[] = { "/nowhere", directory };
	const struct mf_search search = { .directories = directories, .n_directories = 2 };
	const struct mf_symbolizer_options options = { .demangle = true, .inlines = true, .search = &search };
	const struct mf_location *locations;
	char path[PATH_MAX];

	*strrchr(directory, '/') = '\0';
	snprintf(path, sizeof(path), "/elsewhere%s", strrchr(self->program, '/'));
	self->objects[1].path = path;
	dl_iterate_phdr(own_build_id, &self->objects[1]);
	ASSERT_LT(0, self->objects[1].build_id_size);
	for (int right = 1; right >= 0; right--) {
		self->objects[1].build_id[0] ^= !right;
		mf_symbolizer_destroy(mf_take(self->symbolizer, NULL));
		ASSERT_EQ(0, mf_symbolizer_create(self->objects, 2, &options, &self->symbolizer, NULL));
		mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ (uintptr_t)resolve, 1 }, &locations);
		EXPECT_STREQ(right ? "resolve" : "(none)", locations->function ?: "(none)");
		EXPECT_EQ(right, locations->line > 0);
	}
}

TEST_HARNESS_MAIN
