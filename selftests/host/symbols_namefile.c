// SPDX-License-Identifier: GPL-2.0
// Symbol names cached for later runs. The cached names are used, and they are the same names that would be found
// without the cache. A cache file that is invalid, outdated, or not owned by the user is ignored.
//
// To find out whether a cache file is used, the test creates one with wrong names.

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libdeflate.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "symbols/namefile.h"
#include "symbols/symbolizer.h"

#include "selftests/lib/own_build_id.h"
#include "selftests/lib/skip.h"

#define PLACE	"namefile.tmp"
#define CACHE	PLACE "/massif"
#define PROGRAM PLACE "/program" /* a copy of this program, which the tests change */
#define AT_ONCE 4

extern const ElfW(Ehdr) __ehdr_start;

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static unsigned int started; /* number of processes that read ELF files */

/* Replaces the C library's fork(), to count helper processes. */
pid_t fork(void)
{
	pid_t (*begin)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	started++;
	return begin();
}

static int inlined_once(const char *text)
{
	return atoi(text) + 1;
}

/* A function whose code belongs partly to an inlined call and partly to the function itself. */
__attribute__((noinline)) static int caller(const char *text)
{
	return inlined_once(text) * 3;
}

/* A function whose printed name depends on --demangle. */
__attribute__((noinline, used)) static int mangled(int n) __asm__("_ZN2at7mangledEi");
static int mangled(int n)
{
	return n * 5;
}

FIXTURE(names) {
	char program[PATH_MAX];
	struct mf_object objects[2];
	struct mf_symbolizer *symbolizer;
	struct mf_names *names;
	uint64_t pcs[64];
	size_t n_pcs;
};

static bool copy_program(const char *from)
{
	char command[PATH_MAX + 128];

	snprintf(command, sizeof(command), "cp '%s' " PROGRAM ".new && mv " PROGRAM ".new " PROGRAM,
		 from);
	return system(command) == 0;
}

FIXTURE_SETUP(names)
{
	ssize_t length = readlink("/proc/self/exe", self->program, sizeof(self->program) - 1);

	seed = 1;
	ASSERT_LT(0, length);
	self->program[length] = '\0';
	ASSERT_EQ(0, system("rm -rf " PLACE));
	ASSERT_EQ(0, mkdir(PLACE, 0755));
	ASSERT_TRUE(copy_program(self->program));
	memset(self->objects, 0, sizeof(self->objects));
	ASSERT_EQ(1, dl_iterate_phdr(own_build_id, &self->objects[1]));
	if (!self->objects[1].build_id_size)
		SKIP_SETUP("this program has no build id");
	self->objects[1].kind = MF_OBJECT_FILE;
	self->objects[1].path = PROGRAM;
	self->objects[1].end = UINT64_MAX;
	self->symbolizer = NULL;
	self->names = NULL;
	self->n_pcs = 0;
	for (uint64_t i = 0; i < 24; i++)
		self->pcs[self->n_pcs++] = (uintptr_t)caller + i;
	for (uint64_t i = 0; i < 24; i++)
		self->pcs[self->n_pcs++] = (uintptr_t)below + 8 * i;
	for (uint64_t i = 0; i < 2; i++)
		self->pcs[self->n_pcs++] = (uintptr_t)mangled + i;
	/* An address at which there is no code. */
	self->pcs[self->n_pcs++] = (uintptr_t)&__ehdr_start + 1;
}

FIXTURE_TEARDOWN(names)
{
	mf_symbolizer_destroy(self->symbolizer);
	mf_names_destroy(self->names);
	if (system("rm -rf " PLACE))
		abort();
}

/* Creates a new symbolizer, as a new run of massif-ctl would. */
static bool begin(FIXTURE_DATA(names) *self, const char *cache, bool demangle)
{
	struct mf_symbolizer_options options = { .demangle = demangle, .inlines = true };

	mf_symbolizer_destroy(mf_take(self->symbolizer, NULL));
	mf_names_destroy(mf_take(self->names, NULL));
	self->names = mf_names_create();
	if (!self->names)
		return false;
	mf_names_begin_with(self->names, cache ?: "", demangle);
	options.names = self->names;
	return mf_symbolizer_create(self->objects, 2, &options, &self->symbolizer, NULL) == 0;
}

/*
 * Creates a new symbolizer and returns everything that it finds out about the addresses, as text. If @keep is true, the
 * names are saved.
 */
static char *tell_as(FIXTURE_DATA(names) *self, const char *cache, bool demangle, bool keep)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out || !begin(self, cache, demangle))
		return NULL;
	for (size_t i = 0; i < self->n_pcs; i++)
		mf_symbolizer_want(self->symbolizer, (struct mf_frame){ self->pcs[i], 1 });
	mf_symbolizer_prepare(self->symbolizer);
	for (size_t i = 0; i < self->n_pcs; i++) {
		const struct mf_location *found;
		size_t n = mf_symbolizer_resolve(self->symbolizer,
						 (struct mf_frame){ self->pcs[i], 1 }, &found);

		for (size_t k = 0; k < n; k++)
			fprintf(out, "%s %s %s %u %s %lu|", found[k].function ?: "-",
				found[k].directory ?: "-", found[k].file ?: "-", found[k].line,
				found[k].object ?: "-", (unsigned long)found[k].offset);
		fputc('\n', out);
	}
	if (keep)
		mf_names_save(self->names);
	return fclose(out) == 0 ? mf_take(text, NULL) : NULL;
}

static char *tell(FIXTURE_DATA(names) *self, const char *cache, bool keep)
{
	return tell_as(self, cache, true, keep);
}

static int files(void)
{
	FILE *list = popen("ls -A " CACHE " 2>&- | wc -l", "r");
	int n = -1;

	if (!list || fscanf(list, "%d", &n) != 1)
		n = -1;
	if (list)
		pclose(list);
	return n;
}

static void path_of(FIXTURE_DATA(names) *self, char path[256])
{
	int at = sprintf(path, CACHE "/");

	for (int i = 0; i < self->objects[1].build_id_size; i++)
		at += sprintf(path + at, "%02x", self->objects[1].build_id[i]);
	strcpy(path + at, ".names");
}

/* Makes a valid file that gives the name "a_lie" to each address. */
static struct mf_namefile *make_lie(FIXTURE_DATA(names) *self, size_t *size)
{
	struct mf_namefile_draft draft = { 0 };
	struct mf_sources sources = { 0 };
	struct mf_namefile *file;

	for (size_t i = 0; i < self->n_pcs; i++) {
		uint32_t text = mf_namefile_add_text(&draft, "a_lie");
		size_t same = 0;

		/* Several addresses may belong to one function. */
		while (self->pcs[same] != self->pcs[i])
			same++;
		if (same < i)
			continue;
		mf_namefile_add_record(&draft, self->pcs[i] - self->objects[1].bias, text, 0);
		mf_namefile_add_position(&draft, (struct mf_namefile_position){ 0 });
	}
	mf_sources_add(&sources, PROGRAM);
	mf_sources_add(&sources, PLACE "/absent");
	file = mf_namefile_make(&draft, &self->objects[1], &sources, size);
	mf_sources_deinit(&sources);
	mf_namefile_draft_deinit(&draft);
	return file;
}

static bool write_lie(FIXTURE_DATA(names) *self)
{
	size_t size;
	mf_auto_free struct mf_namefile *file = make_lie(self, &size);

	if (file)
		mf_namefile_write(CACHE, file, size);
	return file;
}

static bool believes(FIXTURE_DATA(names) *self)
{
	mf_auto_free char *text = tell(self, CACHE, false);

	return text && strstr(text, "a_lie");
}

TEST_F(names, cold_and_warm)
{
	mf_auto_free char *without = tell(self, NULL, true);
	mf_auto_free char *cold = NULL, *warm = NULL, *more = NULL;
	struct stat before, status;
	char path[256];

	ASSERT_NE(NULL, strstr(without, "caller "));
	ASSERT_NE(NULL, strstr(without, "inlined_once "));
	ASSERT_NE(NULL, strstr(without, " symbols_namefile.c "));
	EXPECT_EQ(0, files());
	cold = tell(self, CACHE, true);
	EXPECT_STREQ(without, cold);
	EXPECT_EQ(1, files());
	path_of(self, path);
	ASSERT_EQ(0, stat(path, &before));
	EXPECT_EQ(0600, before.st_mode & 07777);
	ASSERT_EQ(0, stat(CACHE, &status));
	EXPECT_EQ(0700, status.st_mode & 07777);

	EXPECT_LT(0, started);
	started = 0;
	warm = tell(self, CACHE, true);
	EXPECT_STREQ(without, warm);
	/* The file has all names, so no other file is read, and nothing is written. */
	EXPECT_EQ(0, started);
	ASSERT_EQ(0, stat(path, &status));
	EXPECT_EQ(before.st_ino, status.st_ino);

	/* The names of other addresses are added to those that are already in the file. */
	for (size_t i = 0; i < self->n_pcs; i++)
		self->pcs[i] += 24;
	more = tell(self, CACHE, true);
	free(mf_take(without, NULL));
	without = tell(self, NULL, false);
	EXPECT_STREQ(without, more);
	ASSERT_EQ(0, stat(path, &status));
	EXPECT_LT(before.st_size, status.st_size);
	/*
	 * By now the name file contains the names of all addresses that are looked up here, so the debug information is
	 * not used.
	 */
	for (size_t i = 0; i < self->n_pcs; i++)
		self->pcs[i] -= 24;
	free(mf_take(warm, NULL));
	warm = tell(self, CACHE, true);
	EXPECT_STREQ(cold, warm);
}

TEST_F(names, is_used)
{
	mf_auto_free char *text = NULL;

	EXPECT_FALSE(believes(self));
	ASSERT_TRUE(write_lie(self));
	EXPECT_TRUE(believes(self));
	/* A name file is used neither for a different object nor for an object without a build id. */
	self->objects[1].build_id[0] ^= 1;
	EXPECT_FALSE(believes(self));
	self->objects[1].build_id_size = 0;
	free(mf_take(text, NULL));
	text = tell(self, CACHE, true);
	EXPECT_NE(NULL, strstr(text, "caller "));
	EXPECT_EQ(1, files());
}

/* Names are stored in mangled form, as in the object's file. */
TEST_F(names, demangled_or_not)
{
	mf_auto_free char *plain = tell_as(self, NULL, false, false);
	mf_auto_free char *shown = tell_as(self, NULL, true, false);
	mf_auto_free char *text = NULL;

	ASSERT_NE(NULL, strstr(plain, "\n_ZN2at7mangledEi "));
	ASSERT_NE(NULL, strstr(shown, "\nat::mangled(int) "));
	for (int i = 0; i < 4; i++) {
		free(mf_take(text, NULL));
		text = tell_as(self, CACHE, i % 2, true);
		EXPECT_STREQ(i % 2 ? shown : plain, text);
		EXPECT_EQ(1, files());
	}
}

/*
 * The second symbolizer in a run starts with the names that the first one found as well as those that were saved by
 * earlier runs.
 */
TEST_F(names, of_the_run_and_saved)
{
	struct mf_symbolizer_options options = { .demangle = true, .inlines = true };
	mf_auto_free char *without = tell(self, NULL, false), *text = NULL;
	const struct mf_location *found;
	struct stat before, after;
	size_t n = self->n_pcs;
	char path[256];

	self->n_pcs = 20;
	free(tell(self, CACHE, true));
	path_of(self, path);
	ASSERT_EQ(0, stat(path, &before));
	ASSERT_TRUE(begin(self, CACHE, true));
	options.names = self->names;
	for (size_t i = 0; i < n; i++)
		mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ self->pcs[i], 1 }, &found);
	/* The program file has been moved away, so nothing can be looked up from here on. */
	mf_symbolizer_destroy(mf_take(self->symbolizer, NULL));
	ASSERT_EQ(0, rename(PROGRAM, PLACE "/away"));
	ASSERT_EQ(0, mf_symbolizer_create(self->objects, 2, &options, &self->symbolizer, NULL));
	EXPECT_STREQ("caller", mf_symbolizer_function(self->symbolizer,
						      (struct mf_frame){ self->pcs[4], 1 }));
	EXPECT_STREQ("at::mangled(int)",
		     mf_symbolizer_function(self->symbolizer, (struct mf_frame){ self->pcs[n - 2], 1 }));
	ASSERT_EQ(0, rename(PLACE "/away", PROGRAM));
	mf_names_save(self->names);
	ASSERT_EQ(0, stat(path, &after));
	EXPECT_LT(before.st_size, after.st_size);
	self->n_pcs = n;
	text = tell(self, CACHE, true);
	EXPECT_STREQ(without, text);
}

/* The first two runs request only the function name of an address. Later runs request everything. */
TEST_F(names, functions_first)
{
	const struct mf_frame frame = { self->pcs[4], 1 };
	mf_auto_free char *without = tell(self, NULL, false), *text = NULL;

	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(begin(self, CACHE, true));
		EXPECT_STREQ("caller", mf_symbolizer_function(self->symbolizer, frame));
		mf_names_save(self->names);
		EXPECT_EQ(1, files());
	}
	for (int i = 0; i < 2; i++) {
		free(mf_take(text, NULL));
		text = tell(self, CACHE, true);
		EXPECT_STREQ(without, text);
	}
}

TEST_F(names, no_longer_true)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1 } };

	ASSERT_TRUE(write_lie(self));
	EXPECT_TRUE(believes(self));
	ASSERT_EQ(0, utimensat(AT_FDCWD, PROGRAM, times, 0));
	EXPECT_FALSE(believes(self));
	ASSERT_TRUE(write_lie(self));
	EXPECT_TRUE(believes(self));
	/*
	 * The names also depend on a file that did not exist when the name file was written. While that file exists,
	 * the name file is not used.
	 */
	ASSERT_EQ(0, symlink("program", PLACE "/absent"));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, unlink(PLACE "/absent"));
	EXPECT_TRUE(believes(self));
	/* If a file is replaced with a copy, which has another inode, it is treated as changed. */
	ASSERT_TRUE(copy_program(self->program));
	EXPECT_FALSE(believes(self));
	ASSERT_TRUE(write_lie(self));
	ASSERT_EQ(0, truncate(PROGRAM, 8192));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, unlink(PROGRAM));
	EXPECT_FALSE(believes(self));
	/* The path is part of what is cached: the same file at another path is treated as unknown. */
	ASSERT_TRUE(copy_program(self->program));
	ASSERT_TRUE(write_lie(self));
	self->objects[1].path = PLACE "/./program";
	EXPECT_FALSE(believes(self));
}

/* Commands that set up the program, and commands that change its debug information. */
static const struct {
	const char *what, *commands, *then;
	int files;
} places[] = {
	{ "stripped", "objcopy -S program stripped && mv stripped program", NULL, 1 },
	{ "no debug information", "strip --strip-debug program", NULL, 1 },
	{ "debug information comes",
	  "objcopy --only-keep-debug program whole && objcopy -S program stripped && "
	  "cp whole program.debug && objcopy --add-gnu-debuglink=program.debug stripped program && "
	  "rm program.debug",
	  "mkdir .debug && mv whole .debug/program.debug", 1 },
	{ "debug information goes",
	  "objcopy --only-keep-debug program program.debug && "
	  "objcopy -S --add-gnu-debuglink=program.debug program stripped && mv stripped program",
	  "rm program.debug", 1 },
	{ "a third file, of which nothing is used", "head -c 32 /dev/zero >alt && strip --strip-debug program && "
	  "objcopy --add-section .gnu_debugaltlink=alt program more && mv more program", NULL, 1 },
	{ "debug information comes, and a third file",
	  "head -c 32 /dev/zero >alt && objcopy --add-section .gnu_debugaltlink=alt program more && "
	  "objcopy --only-keep-debug more whole && objcopy -S more stripped && "
	  "cp whole program.debug && objcopy --add-gnu-debuglink=program.debug stripped program && "
	  "rm program.debug",
	  "mkdir .debug && mv whole .debug/program.debug", 1 },
	{ "a third file", "head -c 32 /dev/zero >alt && "
	  "objcopy --add-section .gnu_debugaltlink=alt program more && mv more program", NULL, 0 },
};

TEST_F(names, what_has_a_say)
{
	if (system("objcopy --version >/dev/null 2>&1"))
		SKIP(return, "no objcopy");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char commands[512];

		ASSERT_EQ(0, system("rm -rf " CACHE " " PLACE "/.debug " PLACE "/program.debug"));
		ASSERT_TRUE(copy_program(self->program));
		for (const char *next = places[i].commands; next; next = next == places[i].then ?
									  NULL : places[i].then) {
			mf_auto_free char *without = NULL, *cold = NULL, *warm = NULL;

			snprintf(commands, sizeof(commands), "cd " PLACE " && %s", next);
			ASSERT_EQ(0, system(commands));
			without = tell(self, NULL, false);
			cold = tell(self, CACHE, true);
			warm = tell(self, CACHE, true);
			EXPECT_STREQ(without, cold) {
				TH_LOG("%s", places[i].what);
			}
			EXPECT_STREQ(without, warm);
			EXPECT_EQ(places[i].files, files()) {
				TH_LOG("%s", places[i].what);
			}
			/*
			 * Source files are found only while there is debug information: after the second command if it
			 * "comes", and otherwise after the first one.
			 */
			if (places[i].then)
				EXPECT_EQ(!strstr(places[i].what, "comes") == (next != places[i].then),
					  strstr(without, " symbols_namefile.c ") != NULL);
		}
	}
}

#define BUILD "gcc -g -O1 -no-pie -Wl,--build-id=0x0123456789abcdef01234567 "

/* With split debug information, other files can change or disappear without any change to the program's own file. */
TEST_F(names, split)
{
	static const struct {
		const char *command;
		int files;
	} builds[] = {
		{ BUILD "-gsplit-dwarf -o program split.c", 0 },
		{ BUILD "-o program split.c", 1 },
	};
	FILE *source = fopen(PLACE "/split.c", "w");

	if (!source || system("gcc --version >/dev/null 2>&1"))
		SKIP(return, "no gcc");
	fputs("int f(int n) { return n * 3; }\nint main(int n, char **v) { return f(n) - 3; }\n", source);
	fclose(source);
	memcpy(self->objects[1].build_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67", 12);
	self->objects[1].build_id_size = 12;
	self->objects[1].bias = 0;
	/* Look up every eighth address of a range that contains the program's code. */
	for (size_t i = 0; i < self->n_pcs; i++)
		self->pcs[i] = 0x401000 + 8 * i;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		mf_auto_free char *without = NULL, *with = NULL;
		char command[256];

		snprintf(command, sizeof(command), "cd " PLACE " && %s", builds[i].command);
		ASSERT_EQ(0, system(command));
		without = tell(self, NULL, false);
		EXPECT_NE(NULL, strstr(without, " split.c "));
		with = tell(self, CACHE, true);
		EXPECT_STREQ(without, with);
		EXPECT_EQ(builds[i].files, files());
	}
}

static bool is_right(FIXTURE_DATA(names) *self, const struct mf_namefile *file, size_t size)
{
	/* Copy @file to a block of exactly @size bytes, so that reads beyond its end are noticed. */
	mf_auto_free struct mf_namefile *copy = malloc(size ?: 1);

	memcpy(copy, file, size);
	return mf_namefile_is_right(copy, size, &self->objects[1]);
}

static void seal(struct mf_namefile *file, size_t size)
{
	file->sum = 0;
	file->sum = libdeflate_crc32(0, file, size);
}

/* Reads everything that the file contains. */
static size_t read_all(const struct mf_namefile *file)
{
	struct mf_sources sources;
	size_t n = 0;

	mf_namefile_sources(file, &sources);
	for (uint32_t i = 0; i < sources.count; i++)
		n += strlen(sources.paths[i]);
	for (uint32_t i = 0; i < file->n_records; i++) {
		const struct mf_namefile_record *record = &file->records[i];

		if (mf_namefile_find(file, record->address) != record)
			return 0;
		n += strlen(mf_namefile_text(file, record->function) ?: "");
		for (uint32_t k = 0; k < record->count; k++) {
			const struct mf_namefile_position *position =
				mf_namefile_position(file, record, k);

			n += strlen(mf_namefile_text(file, position->function) ?: "");
			n += strlen(mf_namefile_text(file, position->directory) ?: "");
			n += strlen(mf_namefile_text(file, position->file) ?: "");
		}
	}
	return n;
}

TEST_F(names, damaged)
{
	mf_auto_free char *without = tell(self, CACHE, true);
	mf_auto_free struct mf_namefile *right = mf_namefile_read(CACHE, &self->objects[1]);
	size_t size, accepted = 0;
	struct stat status;
	char path[256];

	path_of(self, path);
	ASSERT_NE(NULL, right);
	ASSERT_EQ(0, stat(path, &status));
	size = (size_t)status.st_size;
	ASSERT_TRUE(is_right(self, right, size));
	EXPECT_LT(100, read_all(right));
	for (size_t i = 0; i < size; i++) {
		unsigned char *byte = (unsigned char *)right + i, was = *byte;

		*byte ^= (unsigned char)(1 + below(255));
		EXPECT_FALSE(is_right(self, right, size));
		*byte = was;
	}
	for (size_t n = 0; n < size; n++)
		EXPECT_FALSE(is_right(self, right, n));

	/* Damaged contents with a correct checksum: if the file is accepted, all of it must be readable. */
	for (int i = 0; i < 20000; i++) {
		mf_auto_free struct mf_namefile *wrong = malloc(size);

		memcpy(wrong, right, size);
		for (uint64_t n = 1 + below(4); n; n--)
			((unsigned char *)wrong)[below(i % 2 ? sizeof(*wrong) + 512 : size)] ^=
				(unsigned char)(1 + below(255));
		seal(wrong, size);
		if (mf_namefile_is_right(wrong, size, &self->objects[1])) {
			read_all(wrong);
			accepted++;
		}
	}
	EXPECT_LT(0, accepted);
	EXPECT_GT(20000, accepted);

	/* If the file on disk is damaged, it is written again. */
	for (int i = 0; i < 8; i++) {
		mf_auto_free char *text = NULL;
		mf_auto_close int fd = -1;
		unsigned char byte;
		off_t at = (off_t)below(size);

		ASSERT_TRUE(write_lie(self));
		ASSERT_EQ(0, stat(path, &status));
		fd = open(path, O_RDWR | O_CLOEXEC);
		at %= status.st_size;
		ASSERT_EQ(1, pread(fd, &byte, 1, at));
		byte ^= (unsigned char)(1 + below(255));
		ASSERT_EQ(1, pwrite(fd, &byte, 1, at));
		if (i % 3 == 2)
			ASSERT_EQ(0, ftruncate(fd, at));
		text = tell(self, CACHE, true);
		EXPECT_STREQ(without, text);
		free(right);
		right = mf_namefile_read(CACHE, &self->objects[1]);
		ASSERT_NE(NULL, right);
	}
}

TEST_F(names, foreign)
{
	char path[256];

	path_of(self, path);
	ASSERT_TRUE(write_lie(self));
	ASSERT_EQ(0, chmod(path, 0620));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, chmod(path, 0602));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, chmod(path, 0600));
	EXPECT_TRUE(believes(self));
	ASSERT_EQ(0, rename(path, PLACE "/elsewhere"));
	ASSERT_EQ(0, symlink("../elsewhere", path));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, rename(PLACE "/elsewhere", path));
	EXPECT_TRUE(believes(self));
	ASSERT_EQ(0, chmod(CACHE, 0777));
	EXPECT_FALSE(believes(self));
	ASSERT_EQ(0, unlink(path));
	free(tell(self, CACHE, true));
	EXPECT_EQ(0, files());
	ASSERT_EQ(0, symlink("/dev/zero", path));
	ASSERT_EQ(0, chmod(CACHE, 0700));
	EXPECT_FALSE(believes(self));
	if (geteuid())
		SKIP(return, "only root can give files away");
	ASSERT_EQ(0, unlink(path));
	ASSERT_TRUE(write_lie(self));
	ASSERT_EQ(0, chown(path, 65534, 65534));
	EXPECT_FALSE(believes(self));
}

TEST_F(names, at_once)
{
	mf_auto_free char *without = tell(self, NULL, false);
	pid_t pids[AT_ONCE];
	int status;

	for (int i = 0; i < AT_ONCE; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		/*
		 * Each process first looks up only some of the addresses, and then all of them, so that the processes
		 * change the cache at the same time.
		 */
		for (size_t n = self->n_pcs, round = 0; round < 40; round++) {
			self->n_pcs = 1 + (round * 7 + (size_t)i * 11) % n;
			free(tell(self, CACHE, true));
			self->n_pcs = n;
			if (strcmp(tell(self, CACHE, false) ?: "", without) != 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < AT_ONCE; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(1, files());
}

/*
 * Makes a name file with a record for each of the @n addresses starting at @first. Returns NULL if there are too many
 * addresses.
 */
static struct mf_namefile *make_many(FIXTURE_DATA(names) *self, uint32_t first, uint32_t n,
				     const struct mf_namefile *others, size_t *size)
{
	const struct mf_sources sources = { .paths = { PROGRAM }, .count = 1 };
	struct mf_namefile_draft draft = { 0 };
	struct mf_namefile *file;

	for (uint32_t i = 0; i < n; i++)
		mf_namefile_add_record(&draft, first + n - i, mf_namefile_add_text(&draft, "text"), i);
	if (others)
		mf_namefile_add_others(&draft, others);
	file = mf_namefile_make(&draft, &self->objects[1], &sources, size);
	mf_namefile_draft_deinit(&draft);
	return file;
}

TEST_F(names, has_a_bound)
{
	mf_auto_free struct mf_namefile *half = NULL, *same = NULL, *more = NULL;
	size_t size;

	half = make_many(self, 0, MF_NAMEFILE_RECORDS_MAX / 2 + 1, NULL, &size);
	ASSERT_NE(NULL, half);
	EXPECT_TRUE(is_right(self, half, size));
	same = make_many(self, 0, MF_NAMEFILE_RECORDS_MAX / 2 + 1, half, &size);
	ASSERT_NE(NULL, same);
	EXPECT_EQ(half->n_records, same->n_records);
	more = make_many(self, 100000, MF_NAMEFILE_RECORDS_MAX / 2 + 1, half, &size);
	EXPECT_EQ(NULL, more);
	EXPECT_EQ(NULL, make_many(self, 0, 0, NULL, &size));
}

/* Makes a name file of @bytes bytes. It has a single record with a single symbol name, which is as long as necessary. */
static struct mf_namefile *make_of(FIXTURE_DATA(names) *self, size_t bytes, size_t *size)
{
	const struct mf_sources sources = { .paths = { PROGRAM }, .count = 1 };
	struct mf_namefile_draft draft = { 0 };
	/*
	 * The size of everything in the name file but the symbol name. The first text of a name file is empty, so it
	 * takes one byte. The size of each text includes its NUL.
	 */
	size_t others = sizeof(struct mf_namefile) + sizeof(struct mf_namefile_record) +
			sizeof(struct mf_namefile_source) + 1 + sizeof(PROGRAM);
	size_t length = bytes - others - 1;
	char *name = malloc(length + 1);
	struct mf_namefile *file;

	if (!name)
		abort();
	memset(name, 'x', length);
	name[length] = '\0';
	mf_namefile_add_record(&draft, 1, mf_namefile_add_text(&draft, name), 0);
	free(name);
	file = mf_namefile_make(&draft, &self->objects[1], &sources, size);
	mf_namefile_draft_deinit(&draft);
	return file;
}

TEST_F(names, has_a_bound_of_bytes)
{
	mf_auto_free struct mf_namefile *most = NULL;
	size_t size = 0;

	most = make_of(self, MF_NAMEFILE_BYTES_MAX, &size);
	ASSERT_NE(NULL, most);
	EXPECT_EQ(MF_NAMEFILE_BYTES_MAX, size);
	EXPECT_TRUE(is_right(self, most, size));
	EXPECT_EQ(NULL, make_of(self, MF_NAMEFILE_BYTES_MAX + 1, &size));
	EXPECT_EQ(NULL, make_of(self, 10 * MF_NAMEFILE_BYTES_MAX, &size));
}

/* Only a few files of the maximum size fit into the cache. If a file is replaced, its size is counted only once. */
TEST_F(names, directory_has_a_bound)
{
	char path[256];

	ASSERT_EQ(0, mkdir(CACHE, 0700));
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), CACHE "/%040d.names", i);
		ASSERT_EQ(0, close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
		ASSERT_EQ(0, truncate(path, MF_NAMEFILE_BYTES_MAX));
	}
	free(tell(self, CACHE, true));
	/*
	 * The cache now contains the name file that tell() has just written, and twelve of the 40 files of 4 MiB
	 * created above, 48 MiB in total.
	 */
	EXPECT_EQ(13, files());
	path_of(self, path);
	EXPECT_EQ(0, access(path, F_OK));
}

TEST_HARNESS_MAIN
