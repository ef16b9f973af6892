// SPDX-License-Identifier: GPL-2.0
// A file that crashes, stalls or takes over the process reading it loses only its own names. A process that is not
// affected returns the same names that massif-ctl would find by reading the file itself.
//
// The last byte of a hostile file selects an action. This program replaces elf_begin(), the first function that the
// reader calls for a file, with one that performs the action.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"
#include "symbols/opener.h"
#include "symbols/parser.h"
#include "symbols/symbolizer.h"
#include "symbols/wire.h"

#define PLAIN_USER  12345
#define PARSERS_MAX 16 /* maximum number of idle child processes; the same value as in userland/symbols/symbolizer.c */
#define PLACE	    "parser.tmp"
#define GOOD	    PLACE "/good"
#define HOSTILE	    PLACE "/hostile"

extern const ElfW(Ehdr) __ehdr_start;

enum evil {
	HARMLESS,
	CRASHES = 0xe0,
	ABORTS,
	LOOPS,
	ENDS,
	CLOSES,	     /* the child closes its end of the connection to massif-ctl */
	TELLS_NOISE,
	TELLS_LARGE, /* the child sends the header of a message that is too large */
	TELLS_EMPTY, /* the child sends a message of each kind, without contents */
	ASKS_FOR_EVER,
	FLOODS,
};

static void say(uint32_t kind, uint32_t size, const void *contents, size_t n)
{
	const struct mf_wire_head head = { .kind = kind, .size = size };

	if (write(MF_CONFINE_SOCKET, &head, sizeof(head)) < 0 || (n && write(MF_CONFINE_SOCKET, contents, n) < 0))
		_exit(9);
}

static void obey(enum evil evil)
{
	const struct mf_opener_request request = { .what = MF_OPENER_OTHER, .size = 1, .name = "/" };
	char noise[4096];

	switch (evil) {
	case CRASHES:
		raise(SIGSEGV);
		return;
	case ABORTS:
		abort();
	case LOOPS:
		for (;;)
			__asm__ volatile("");
	case ENDS:
		_exit(3);
	case CLOSES:
		close(MF_CONFINE_SOCKET);
		for (;;)
			__asm__ volatile("");
	case TELLS_NOISE:
		memset(noise, 0x5a, sizeof(noise));
		for (;;)
			if (write(MF_CONFINE_SOCKET, noise, sizeof(noise)) < 0)
				_exit(9);
	case TELLS_LARGE:
		say(MF_WIRE_OPENED, MF_WIRE_BYTES_MAX + 1, NULL, 0);
		for (;;)
			__asm__ volatile("");
	case TELLS_EMPTY:
		for (uint32_t kind = 0; kind < 9; kind++)
			say(kind, 0, NULL, 0);
		return;
	case ASKS_FOR_EVER:
		for (;;)
			say(MF_WIRE_REQUEST, offsetof(struct mf_opener_request, name) + 1, &request,
			    offsetof(struct mf_opener_request, name) + 1);
	case FLOODS:
		for (;;)
			say(MF_WIRE_ANSWER, 0, NULL, 0);
	case HARMLESS:
		return;
	}
}

/* Replaces libelf's elf_begin(). */
Elf *elf_begin(int fd, Elf_Cmd command, Elf *of)
{
	Elf *(*begin)(int, Elf_Cmd, Elf *) = (Elf * (*)(int, Elf_Cmd, Elf *))dlsym(RTLD_NEXT, "elf_begin");
	unsigned char last = 0;
	off_t size = lseek(fd, 0, SEEK_END);

	if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last >= CRASHES)
		obey((enum evil)last);
	return begin(fd, command, of);
}

static bool no_fork;

pid_t fork(void)
{
	pid_t (*begin)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	if (no_fork) {
		errno = EAGAIN;
		return -1;
	}
	return begin();
}

static unsigned int n_told;
static char told_path[PATH_MAX], told_why[256];

static void hear(const char *path, const char *why)
{
	n_told++;
	snprintf(told_path, sizeof(told_path), "%s", path);
	snprintf(told_why, sizeof(told_why), "%s", why);
}

static unsigned int n_loose;

static void hear_loose(unsigned int confined)
{
	n_loose++;
}

FIXTURE(parser) {
	/*
	 * 0: the unknown object, which has no file; 1: the valid file GOOD; 2: the file HOSTILE, which attacks its
	 * reader
	 */
	struct mf_object objects[3];
	struct mf_symbolizer *symbolizer;
	struct mf_symbolizer_options options;
};

FIXTURE_VARIANT(parser) {
	uid_t user;
};

FIXTURE_VARIANT_ADD(parser, of_root) { .user = 0 };
FIXTURE_VARIANT_ADD(parser, of_a_plain_user) { .user = PLAIN_USER };

FIXTURE_SETUP(parser)
{
	if (variant->user == 0 && geteuid())
		SKIP_SETUP("not root");
	if (variant->user && geteuid() == 0 && ctl_not_by(variant->user))
		SKIP_SETUP("%s", ctl_not_by(variant->user));
	ASSERT_EQ(0, system("rm -rf " PLACE " && mkdir -m 777 " PLACE));
	n_told = n_loose = 0;
	no_fork = false;
	*told_why = *told_path = '\0';
	memset(self->objects, 0, sizeof(self->objects));
	for (int i = 1; i < 3; i++) {
		self->objects[i].kind = MF_OBJECT_FILE;
		self->objects[i].path = i == 1 ? GOOD : HOSTILE;
		self->objects[i].end = UINT64_MAX;
		if (__ehdr_start.e_type == ET_DYN)
			self->objects[i].bias = (uintptr_t)&__ehdr_start;
	}
	self->symbolizer = NULL;
	self->options = (struct mf_symbolizer_options){
		.demangle = true, .inlines = true, .unreadable = hear, .loose = hear_loose,
	};
	if (geteuid() == 0)
		ASSERT_EQ(0, setresuid(variant->user, variant->user, variant->user));
}

FIXTURE_TEARDOWN(parser)
{
	mf_symbolizer_destroy(self->symbolizer);
	/* Remove only the contents of the directory PLACE: an unprivileged user cannot remove the directory itself. */
	if (system("rm -rf " PLACE "/*"))
		abort();
}

static bool copy_self(const char *to, enum evil evil)
{
	char self[PATH_MAX], command[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *file;

	if (length < 0)
		return false;
	self[length] = '\0';
	snprintf(command, sizeof(command), "cp '%s' '%s'", self, to);
	if (system(command))
		return false;
	file = fopen(to, "a");
	if (!file)
		return false;
	fputc((int)evil, file);
	return fclose(file) == 0;
}

static bool begin(FIXTURE_DATA(parser) *self)
{
	mf_symbolizer_destroy(mf_take(self->symbolizer, NULL));
	return mf_symbolizer_create(self->objects, 3, &self->options, &self->symbolizer, NULL) == 0;
}

static const char *function_of(FIXTURE_DATA(parser) *self, uint32_t object)
{
	return mf_symbolizer_function(self->symbolizer, (struct mf_frame){ (uintptr_t)copy_self, object });
}

static const struct {
	enum evil evil;
	const char *why;
} evils[] = {
	{ CRASHES, "it is damaged: the process that read it was killed by 'Segmentation fault'" },
	{ ABORTS, "it is damaged: the process that read it was killed by 'Aborted'" },
	{ LOOPS, "reading its debug information took too long" },
	{ ENDS, "the process that read it was killed or gave an invalid answer" },
	{ CLOSES, "the process that read it was killed or gave an invalid answer" },
	{ TELLS_NOISE, "the process that read it was killed or gave an invalid answer" },
	{ TELLS_LARGE, "the process that read it was killed or gave an invalid answer" },
	{ TELLS_EMPTY, "the process that read it was killed or gave an invalid answer" },
	{ ASKS_FOR_EVER, NULL },
	{ FLOODS, "the process that read it was killed or gave an invalid answer" },
};

TEST_F_TIMEOUT(parser, hostile_files_lose_their_own_names, 120)
{
	ASSERT_TRUE(copy_self(GOOD, HARMLESS));
	for (size_t i = 0; i < ARRAY_SIZE(evils); i++) {
		const struct mf_location *locations;
		size_t n;

		ASSERT_TRUE(copy_self(HOSTILE, evils[i].evil));
		self->options.patience_ms = 3000;
		for (int together = 0; together < 2; together++) {
			n_told = 0;
			ASSERT_TRUE(begin(self));
			for (uint32_t object = 1; together && object < 3; object++)
				mf_symbolizer_want(self->symbolizer,
						   (struct mf_frame){ (uintptr_t)copy_self, object });
			if (together)
				mf_symbolizer_prepare(self->symbolizer);
			EXPECT_EQ(NULL, function_of(self, 2));
			EXPECT_STREQ("copy_self", function_of(self, 1));
			n = mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ (uintptr_t)copy_self, 2 },
						  &locations);
			EXPECT_EQ(1, n);
			EXPECT_EQ(NULL, locations[0].function);
			EXPECT_EQ(NULL, locations[0].file);
			EXPECT_STREQ(HOSTILE, locations[0].object);
			n = mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ (uintptr_t)copy_self, 1 },
						  &locations);
			EXPECT_STREQ("symbols_parser.c", locations[n - 1].file);
			EXPECT_EQ(1, n_told);
			EXPECT_STREQ(HOSTILE, told_path);
			if (evils[i].why) {
				EXPECT_EQ(0, strncmp(told_why, evils[i].why, strlen(evils[i].why))) {
					TH_LOG("evil %zu: %s", i, told_why);
				}
			}
		}
	}
	EXPECT_EQ(0, n_loose);
}

/*
 * Looks up every @step-th address below @end in object 1. Returns a text with the functions and source lines found. The
 * file is read in this process if @unconfined, otherwise in a child process.
 */
static char *tell(FIXTURE_DATA(parser) *self, uint64_t end, uint64_t step, bool unconfined)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	self->options.unconfined = unconfined;
	if (!out || !begin(self))
		return NULL;
	for (uint64_t at = 0; at < end; at += step)
		mf_symbolizer_want(self->symbolizer, (struct mf_frame){ at, 1 });
	mf_symbolizer_prepare(self->symbolizer);
	for (uint64_t at = 0; at < end; at += step) {
		const struct mf_location *found;
		size_t n = mf_symbolizer_resolve(self->symbolizer, (struct mf_frame){ at, 1 }, &found);

		for (size_t i = 0; i < n; i++)
			fprintf(out, "%#lx %s+%lu %s/%s:%u %s\n", (unsigned long)at, found[i].function ?: "-",
				(unsigned long)found[i].offset, found[i].directory ?: "-", found[i].file ?: "-",
				found[i].line, found[i].object ?: "-");
	}
	fclose(out);
	return text;
}

#define SOURCE \
	"#include <string>\n#include <vector>\n" \
	"static inline __attribute__((always_inline)) int once(int n) { volatile int m = n; return m * 3; }\n" \
	"namespace some { template <class T> int many(T n) { return once(n) + once(n + 1); }\n" \
	"struct thing { std::vector<std::string> all; void add(int n) { all.push_back(std::to_string(many(n))); } }; }\n" \
	"int main() { some::thing t; for (int i = 0; i < 3; i++) t.add(i); return t.all.size() == 3 ? 0 : some::many(2l); }\n"

/*
 * The files to be read: the path of each file, the commands that build it from PLACE/source.cc (NULL if it already
 * exists), the compiler that these commands need, and a string that must appear among the names read from the file.
 */
static const struct {
	const char *path, *commands, *needs, *expected;
} programs[] = {
	{ "/usr/bin/python3", NULL, NULL, NULL },
	{ "/usr/bin/sqlite3", NULL, NULL, NULL },
	{ "/lib/x86_64-linux-gnu/libc.so.6", NULL, NULL, "malloc" },
	{ PLACE "/self", NULL, NULL, "symbols_parser.c" },
	{ PLACE "/plain", "g++ -O2 -g -o plain source.cc", "g++", "once+0" },
	{ PLACE "/zlib", "g++ -O2 -g -gz=zlib -o zlib source.cc", "g++", "once+0" },
	{ PLACE "/split", "g++ -O2 -g -gsplit-dwarf -o split source.cc", "g++", "once+0" },
	{ PLACE "/stripped", "g++ -O2 -g -o stripped source.cc && objcopy --only-keep-debug stripped stripped.debug && "
	  "objcopy -S --add-gnu-debuglink=stripped.debug stripped", "g++", "once+0" },
	{ PLACE "/shared", "g++ -O2 -g -o shared source.cc && cp shared shared2 && dwz -m common.debug shared shared2",
	  "dwz", "once+0" },
};

TEST_F_TIMEOUT(parser, names_are_those_that_are_read_here, 240)
{
	FILE *source = fopen(PLACE "/source.cc", "w");

	ASSERT_NE(NULL, source);
	fputs(SOURCE, source);
	ASSERT_EQ(0, fclose(source));
	ASSERT_TRUE(copy_self(PLACE "/self", HARMLESS));
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		mf_auto_free char *here = NULL, *there = NULL;
		char command[1024];
		struct stat status;
		uint64_t step;

		snprintf(command, sizeof(command), "%s --version >" PLACE "/tools 2>&1", programs[i].needs ?: "true");
		if (system(command))
			continue;
		snprintf(command, sizeof(command), "cd " PLACE " && (%s) >tools 2>&1", programs[i].commands ?: "true");
		ASSERT_EQ(0, system(command)) {
			TH_LOG("%s", programs[i].path);
		}
		if (stat(programs[i].path, &status))
			continue;
		self->objects[1].path = programs[i].path;
		self->objects[1].bias = 0;
		step = status.st_size > 1 << 20 ? (uint64_t)status.st_size / 8192 : 8;
		here = tell(self, (uint64_t)status.st_size, step, true);
		there = tell(self, (uint64_t)status.st_size, step, false);
		ASSERT_NE(NULL, here);
		EXPECT_EQ(0, strcmp(here, there)) {
			TH_LOG("%s: %zu and %zu bytes", programs[i].path, strlen(here), strlen(there));
		}
		if (programs[i].expected) {
			EXPECT_NE(NULL, strstr(there, programs[i].expected)) {
				TH_LOG("%s", programs[i].path);
			}
		}
	}
	EXPECT_EQ(0, n_told) {
		TH_LOG("%s", told_why);
	}
}

/*
 * If no process can be started to read a file, an unprivileged massif-ctl reads the file itself, but a privileged one
 * does not.
 */
TEST_F(parser, where_no_process_can_be_started)
{
	ASSERT_TRUE(copy_self(GOOD, HARMLESS));
	ASSERT_TRUE(begin(self));
	no_fork = true;
	if (variant->user) {
		EXPECT_STREQ("copy_self", function_of(self, 1));
		EXPECT_EQ(0, n_told);
	} else {
		EXPECT_EQ(NULL, function_of(self, 1));
		EXPECT_EQ(1, n_told);
		EXPECT_NE(NULL, strstr(told_why, "cannot start a process to read it"));
	}
	no_fork = false;
}

static size_t count_children(void)
{
	char path[64], text[65536];
	size_t count = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	for (ssize_t i = 0; i < n; i++)
		count += text[i] == ' ';
	if (fd >= 0)
		close(fd);
	return n < 0 ? SIZE_MAX : count;
}

/*
 * Each file is read in a child process, which then waits for further queries about the file. At most PARSERS_MAX of
 * these children are kept, even if more files have to be read.
 */
TEST_F_TIMEOUT(parser, processes_have_a_bound, 120)
{
	static const size_t counts[] = { PARSERS_MAX, PARSERS_MAX + 1, 10 * PARSERS_MAX };
	static struct mf_object objects[10 * PARSERS_MAX + 1];
	static char paths[10 * PARSERS_MAX + 1][32];

	ASSERT_TRUE(copy_self(GOOD, HARMLESS));
	if (count_children() == SIZE_MAX)
		SKIP(return, "this kernel does not tell of children");
	for (size_t i = 1; i < ARRAY_SIZE(objects); i++) {
		objects[i] = self->objects[1];
		snprintf(paths[i], sizeof(paths[i]), PLACE "/good.%zu", i);
		ASSERT_EQ(0, link(GOOD, paths[i]));
		objects[i].path = paths[i];
	}
	for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
		mf_symbolizer_destroy(mf_take(self->symbolizer, NULL));
		EXPECT_EQ(0, count_children());
		ASSERT_EQ(0, mf_symbolizer_create(objects, counts[c] + 1, &self->options, &self->symbolizer, NULL));
		for (uint32_t round = 0; round < 2; round++)
			for (uint32_t i = 1; i <= counts[c]; i++)
				EXPECT_STREQ(round ? "begin" : "copy_self",
					     mf_symbolizer_function(self->symbolizer,
								    (struct mf_frame){ round ? (uintptr_t)begin :
										       (uintptr_t)copy_self, i }));
		EXPECT_EQ(PARSERS_MAX, count_children());
	}
}

/* Which files massif-ctl opens on behalf of its child processes, which may be compromised. */
FIXTURE(opener) {
	struct mf_opener opener;
	struct mf_object object;
};

FIXTURE_SETUP(opener)
{
	ASSERT_EQ(0, system("rm -rf " PLACE " && mkdir " PLACE " && echo secret >" PLACE "/text && mkfifo " PLACE
			    "/pipe"));
	ASSERT_TRUE(copy_self(GOOD, HARMLESS));
	self->object = (struct mf_object){ .kind = MF_OBJECT_FILE, .path = GOOD };
	mf_opener_init(&self->opener, &self->object, NULL);
}

FIXTURE_TEARDOWN(opener)
{
	mf_opener_deinit(&self->opener);
	if (system("rm -rf " PLACE))
		abort();
}

static int n_fetched;

/* A server that has only a text. */
static int fetch(void *data, const uint8_t *build_id, size_t size)
{
	n_fetched++;
	return size == 20 && build_id[0] == 7 ? open(data, O_RDONLY | O_CLOEXEC) : -EIO;
}

static int ask(FIXTURE_DATA(opener) *self, uint32_t what, const char *name, uint32_t place)
{
	struct mf_opener_request request = { .what = what, .place = place, .size = (uint32_t)strlen(name) };

	memcpy(request.name, name, request.size);
	return mf_opener_open(&self->opener, &request);
}

TEST_F(opener, opens_elf_files_only)
{
	char real[PATH_MAX], path[PATH_MAX + 16];
	int fd;

	ASSERT_NE(NULL, realpath(PLACE, real));
	snprintf(path, sizeof(path), "%s/good", real);
	fd = ask(self, MF_OPENER_OTHER, path, 0);
	EXPECT_LE(0, fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/text", real);
	EXPECT_EQ(-ENOEXEC, ask(self, MF_OPENER_OTHER, path, 0));
	EXPECT_EQ(-ENOEXEC, ask(self, MF_OPENER_BY_LINK, "text", 0));
	snprintf(path, sizeof(path), "%s/pipe", real);
	EXPECT_EQ(-EINVAL, ask(self, MF_OPENER_OTHER, path, 0));
	EXPECT_EQ(-EINVAL, ask(self, MF_OPENER_OTHER, "/dev/null", 0));
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_OTHER, GOOD, 0)) { TH_LOG("relative"); }
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_OTHER, "", 0));
	EXPECT_EQ(-EINVAL, ask(self, 77, "", 0));
	/*
	 * If a file is not an ELF file, the child that asked for it learns nothing more about it, because the
	 * descriptor that the child is given cannot be read.
	 */
	self->object.path = PLACE "/text";
	for (uint32_t what = MF_OPENER_OBJECT; what <= MF_OPENER_PATH; what++) {
		char byte;

		fd = ask(self, what, "", 0);
		EXPECT_LE(0, fd);
		EXPECT_EQ(-1, pread(fd, &byte, 1, 0));
		EXPECT_EQ(EBADF, errno);
		close(fd);
	}
	self->object.path = PLACE "/pipe";
	EXPECT_EQ(-EINVAL, ask(self, MF_OPENER_OBJECT, "", 0));
}

TEST_F(opener, links_lead_to_three_places)
{
	int fd;

	ASSERT_EQ(0, system("cp " GOOD " " PLACE "/good.debug && mkdir " PLACE "/.debug && cp " GOOD " " PLACE
			    "/.debug/other.debug"));
	for (uint32_t place = 0; place < MF_OPENER_PLACES; place++) {
		fd = ask(self, MF_OPENER_BY_LINK, "good.debug", place);
		EXPECT_EQ(place == 0, fd >= 0);
		close(fd);
		fd = ask(self, MF_OPENER_BY_LINK, "other.debug", place);
		EXPECT_EQ(place == 1, fd >= 0);
		close(fd);
	}
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_BY_LINK, "good.debug", MF_OPENER_PLACES));
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_BY_LINK, "good.debug", 10 * MF_OPENER_PLACES));
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_BY_LINK, "../" GOOD, 0));
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_BY_LINK, "", 0));
	/* The object itself is not accepted as its own debug file. */
	EXPECT_EQ(-ENOENT, ask(self, MF_OPENER_BY_LINK, "good", 0));
}

TEST_F(opener, requests_have_a_length)
{
	static const uint32_t sizes[] = { MF_OPENER_BYTES_MAX, MF_OPENER_BYTES_MAX + 1, 10 * MF_OPENER_BYTES_MAX };
	static const uint32_t ids[] = { 0, 1, 2, 64, 65, 640 };
	struct mf_opener_request request = { .what = MF_OPENER_OTHER };

	memset(request.name, '/', sizeof(request.name));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		request.size = sizes[i];
		EXPECT_EQ(i ? -ENAMETOOLONG : true, i ? mf_opener_open(&self->opener, &request) :
			  mf_opener_open(&self->opener, &request) < 0);
	}
	request.what = MF_OPENER_BY_BUILD_ID;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		request.size = ids[i];
		EXPECT_EQ(ids[i] < 2 || ids[i] > 64 ? -EINVAL : -ENOENT, mf_opener_open(&self->opener, &request));
	}
}

/* Encodes an answer as bytes, the way a child does to send it, and decodes it again. */
TEST(answers_as_bytes)
{
	static struct mf_reader_answer given = { .symbol = "_Z1fv", .shown = "f()", .offset = 1ull << 40, .split = true,
						 .n = MF_POSITIONS_MAX };
	static struct mf_reader_answer got;
	struct mf_wire_buffer buffer = { 0 };

	for (size_t i = 0; i < MF_POSITIONS_MAX; i++)
		given.positions[i] = (struct mf_position){ i % 2 ? "g" : NULL, i % 3 ? "/a/b.c" : NULL, i % 5 ? "" : NULL,
							   (unsigned int)i };
	mf_wire_put_answer(&buffer, &given);
	ASSERT_FALSE(buffer.failed);
	ASSERT_TRUE(mf_wire_get_answer(buffer.bytes, buffer.size, &got));
	EXPECT_STREQ(given.symbol, got.symbol);
	EXPECT_STREQ(given.shown, got.shown);
	EXPECT_EQ(given.offset, got.offset);
	EXPECT_TRUE(got.split);
	EXPECT_EQ(given.n, got.n);
	for (size_t i = 0; i < MF_POSITIONS_MAX; i++) {
		EXPECT_STREQ(given.positions[i].function ?: "-", got.positions[i].function ?: "-");
		EXPECT_STREQ(given.positions[i].path ?: "-", got.positions[i].path ?: "-");
		EXPECT_STREQ(given.positions[i].base ?: "-", got.positions[i].base ?: "-");
		EXPECT_EQ(given.positions[i].line, got.positions[i].line);
	}
	/*
	 * An answer that is truncated (at any offset) or has extra bytes is rejected. Each truncated answer is stored
	 * in a block with only one byte to spare, so that reads beyond the block are detected.
	 */
	for (size_t size = 0; size < buffer.size; size++) {
		mf_auto_free uint8_t *cut = malloc(size + 1);

		memcpy(cut, buffer.bytes, size);
		EXPECT_FALSE(mf_wire_get_answer(cut, size, &got));
	}
	mf_wire_put(&buffer, "", 1);
	EXPECT_FALSE(mf_wire_get_answer(buffer.bytes, buffer.size, &got));
	/*
	 * If any byte of the answer is changed, the answer either is rejected or is still valid and has at most
	 * MF_POSITIONS_MAX positions.
	 */
	buffer.size--;
	for (size_t at = 0; at < buffer.size; at++) {
		buffer.bytes[at] ^= 0xff;
		if (mf_wire_get_answer(buffer.bytes, buffer.size, &got))
			EXPECT_GE(MF_POSITIONS_MAX, got.n);
		buffer.bytes[at] ^= 0xff;
	}
	mf_wire_deinit(&buffer);
}

TEST(answers_have_a_length)
{
	/*
	 * An encoded answer without positions consists of 16 bytes, the sizes of two texts, and the texts with their
	 * terminating NULs. Here the second text is omitted, because it is the same as the first.
	 */
	const size_t most = MF_WIRE_BYTES_MAX - 16 - 2 * sizeof(uint32_t) - 1;
	const size_t sizes[] = { most, most + 1, 10 * most };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		mf_auto_free char *text = malloc(sizes[i] + 1);
		static struct mf_reader_answer given, got;
		struct mf_wire_buffer buffer = { 0 };

		memset(text, 'x', sizes[i]);
		text[sizes[i]] = '\0';
		given.symbol = given.shown = text;
		mf_wire_put_answer(&buffer, &given);
		EXPECT_EQ(i > 0, buffer.failed);
		if (!buffer.failed) {
			EXPECT_TRUE(mf_wire_get_answer(buffer.bytes, buffer.size, &got));
			EXPECT_EQ(0, strcmp(text, got.symbol));
		}
		mf_wire_deinit(&buffer);
	}
}

/* Files that are looked for only on request. A child can ask only for those of its object, and a server only once. */
TEST_F(opener, further_files)
{
	static const char *const directories[] = { "/nowhere", PLACE };
	const struct mf_search search = { directories, 2, fetch, PLACE "/text" };
	uint32_t n_found = 0, place = 0;
	int fd;

	EXPECT_EQ(-ENXIO, ask(self, MF_OPENER_SEARCHED, "", 0));
	EXPECT_EQ(-ENXIO, ask(self, MF_OPENER_FETCHED, "", 0));
	self->opener.search = &search;
	EXPECT_EQ(-ENXIO, ask(self, MF_OPENER_SEARCHED, "", 0)) { TH_LOG("without a build id"); }
	EXPECT_EQ(-ENXIO, ask(self, MF_OPENER_FETCHED, "", 0)) { TH_LOG("without a build id"); }
	self->object.path = "/elsewhere/good";
	self->object.build_id_size = 20;
	self->object.build_id[0] = 7;
	for (; (fd = ask(self, MF_OPENER_SEARCHED, "", place)) != -ENXIO; place++) {
		if (fd < 0) {
			EXPECT_EQ(-ENOENT, fd);
			continue;
		}
		n_found++;
		close(fd);
	}
	EXPECT_EQ(11, place);
	EXPECT_EQ(1, n_found);
	EXPECT_EQ(-ENXIO, ask(self, MF_OPENER_SEARCHED, "", UINT32_MAX));
	self->object.path = "/elsewhere/text";
	EXPECT_EQ(-ENOEXEC, ask(self, MF_OPENER_SEARCHED, "", place - 1));
	self->object.path = "/elsewhere/pipe";
	EXPECT_EQ(-EINVAL, ask(self, MF_OPENER_SEARCHED, "", place - 1));
	n_fetched = 0;
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(-ENOEXEC, ask(self, MF_OPENER_FETCHED, "another", 3));
	EXPECT_EQ(1, n_fetched);
}

TEST_HARNESS_MAIN
