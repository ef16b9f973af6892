// SPDX-License-Identifier: GPL-2.0
// massif-ctl symbolize: recordings of stripped programs are given their names, by build-id, and stay whole whatever
// happens.

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "recording/section.h"
#include "selftests/lib/ctl_run.h"

/* The program, and where its debug file is by its build id. In the shell's words, $id is the build id. */
#define DIR	"massif.names"
#define PROGRAM DIR "/bin/prog"
#define BY_ID	DIR "/dbg/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug"
#define HERE	"set -e; id=$(cat " DIR "/id); "

FIXTURE(symbolize) {
	struct ctl_result result;
	char *before; /* what the recording was before it was symbolized */
	size_t size;
};

static bool shell(const char *script)
{
	return system(script) == 0;
}

FIXTURE_SETUP(symbolize)
{
	char script[4096];

	/* The comparison needs runs that allocate the same blocks at the same code addresses. */
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	ctl_remove_files("massif.rec");
	ctl_remove_files("massif.out");
	unsetenv("DEBUGINFOD_URLS");
	setenv("no_proxy", "127.0.0.1", 1);
	snprintf(script, sizeof(script),
		 "set -e; rm -rf " DIR "; mkdir -p " DIR "/bin; cp %s " DIR "/full; cd " DIR "; "
		 "readelf -n full | sed -n 's/.*Build ID: //p' >id; "
		 "objcopy --only-keep-debug full debug; objcopy -S full stripped; cp stripped bin/prog",
		 ctl_target("recording_names"));
	ASSERT_TRUE(shell(script));
	ASSERT_TRUE(shell(HERE "mkdir -p $(dirname " BY_ID ")"));
}

FIXTURE_TEARDOWN(symbolize)
{
	ctl_result_free(&self->result);
	free(self->before);
	ctl_remove_files("massif.rec");
	ctl_remove_files("massif.out");
	shell("rm -rf " DIR);
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

static char *read_bytes(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *bytes = NULL;

	if (file && fstat(fileno(file), &status) == 0)
		bytes = malloc((size_t)status.st_size + 1);
	*size = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	if (file)
		fclose(file);
	return bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "we");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
}

/* Makes massif.rec, of the stripped program, and keeps its bytes. */
static bool record(FIXTURE_DATA(symbolize) *self, const char *argument)
{
	if (RUN("massif-ctl", "record", "-q", "--time-unit=B", "--separate-threads=yes", "--record=massif.rec",
		"--massif-out-file=massif.out.1", PROGRAM, argument))
		return false;
	free(self->before);
	self->before = read_bytes("massif.rec", &self->size);
	return self->before;
}

static bool is_unchanged(FIXTURE_DATA(symbolize) *self)
{
	size_t size;
	char *now = read_bytes("massif.rec", &size), name[256];
	bool same = now && size == self->size && memcmp(now, self->before, size) == 0;

	free(now);
	return same && ctl_find_files(".massif-", name) == 0;
}

/* Returns whether the names in massif.rec are complete. */
static bool is_named(FIXTURE_DATA(symbolize) *self)
{
	return !RUN("massif-ctl", "export", "--to=collapsed", "massif.rec") &&
	       strstr(self->result.out, "main;hidden_function;inlined_call 5000\n");
}

static bool same_files(const char *left, const char *right)
{
	size_t size[2];
	char *bytes[2] = { read_bytes(left, &size[0]), read_bytes(right, &size[1]) };
	bool same = bytes[0] && bytes[1] && size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;

	free(bytes[0]);
	free(bytes[1]);
	return same;
}

/* The file that the run would have written if the program had not been stripped. */
TEST_F_TIMEOUT(symbolize, equals_a_run_with_names, 120)
{
	ASSERT_TRUE(shell(HERE "cp " DIR "/full " PROGRAM));
	ASSERT_TRUE(record(self, NULL));
	ASSERT_EQ(0, rename("massif.out.1", "massif.out.full"));
	ASSERT_TRUE(shell(HERE "cp " DIR "/stripped " PROGRAM "; cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, NULL));
	EXPECT_FALSE(is_named(self));
	EXPECT_FALSE(same_files("massif.out.1", "massif.out.full"));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.out, PROGRAM "\n"));
	EXPECT_NE(NULL, strstr(self->result.err, " have better names now; wrote massif.rec\n"));
	EXPECT_TRUE(is_named(self));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=massif", "-o", "massif.out.now", "massif.rec"));
	EXPECT_TRUE(same_files("massif.out.now", "massif.out.full"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "recording_names.c"));
	/* There is nothing left to do. */
	free(self->before);
	self->before = read_bytes("massif.rec", &self->size);
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "no better names were found; the recording is unchanged"));
	EXPECT_TRUE(is_unchanged(self));
}

/* Puts files in places, and where they are looked for. */
static const struct {
	const char *what, *script, *debug_dir;
	bool found;
	const char *says;
} places[] = {
	{ "by build-id", "cp debug ../" BY_ID, "--debug-dir=" DIR "/dbg", true },
	{ "by build-id, and the program is gone", "rm -r bin; cp debug ../" BY_ID, "--debug-dir=" DIR "/dbg", true },
	{ "the program has moved", "mkdir new; rm -r bin; cp full new/prog", "--debug-dir=" DIR "/new", true },
	{ "its debug file has moved", "mkdir new; rm -r bin; cp debug new/prog.debug", "--debug-dir=" DIR "/new/", true },
	{ "a copy of the file system", "mkdir -p new$PWD; mv bin new$PWD; cp full new$PWD/bin/prog",
	  "--debug-dir=" DIR "/new", true },
	{ "a copy of the file system, with debug files",
	  "mkdir -p new$PWD; mv bin new$PWD; mkdir -p new/usr/lib; cp debug ../" BY_ID "; mv dbg new/usr/lib/debug",
	  "--debug-dir=" DIR "/new", true },
	{ "the program was replaced by one with names", "cp full bin/prog", "--debug-dir=" DIR, true },
	{ "nowhere", "true", "--debug-dir=" DIR "/dbg", false, ": no debug information was found, build-id " },
	{ "nowhere, and the program is gone", "rm -r bin", "--debug-dir=" DIR "/dbg", false,
	  ": not found (No such file or directory), build-id " },
	{ "another build-id", "rm -r bin; objcopy -O binary --only-section=.note.gnu.build-id full note; "
			      "printf x | dd of=note bs=1 seek=20 conv=notrunc status=none; "
			      "objcopy --update-section .note.gnu.build-id=note debug ../" BY_ID,
	  "--debug-dir=" DIR "/dbg", false, ": not found (the files found for it have another build-id), build-id " },
	{ "another program in its place", "cp /bin/true bin/prog", "--debug-dir=" DIR "/dbg", false,
	  ": not found (the file was replaced by another one), build-id " },
	{ "a debug file of another program", "rm -r bin; cp /bin/true ../" BY_ID, "--debug-dir=" DIR "/dbg", false,
	  ": not found (the files found for it have another build-id), build-id " },
	{ "a text", "rm -r bin; echo text >../" BY_ID, "--debug-dir=" DIR "/dbg", false,
	  ": not found (a file found for it is not an ELF file), build-id " },
	{ "a directory", "rm -r bin; mkdir ../" BY_ID, "--debug-dir=" DIR "/dbg", false, ": not found (Invalid argument)" },
	{ "half a file", "rm -r bin; head -c 2000 debug >../" BY_ID, "--debug-dir=" DIR "/dbg", false,
	  ": no debug information was found, build-id " },
	{ "a text, and then the right one", "rm -r bin; echo text >../" BY_ID "; cp full prog", "--debug-dir=" DIR "/dbg",
	  true },
};

TEST_F_TIMEOUT(symbolize, places, 180)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char script[4096];

		TH_LOG("%s", places[i].what);
		ASSERT_TRUE(shell(HERE "cd " DIR "; rm -rf dbg new bin prog; mkdir bin; cp stripped bin/prog; cd ..; "
				  "mkdir -p $(dirname " BY_ID ")"));
		ASSERT_TRUE(record(self, NULL));
		snprintf(script, sizeof(script), HERE "cd " DIR "; %s", places[i].script);
		ASSERT_TRUE(shell(script));
		EXPECT_EQ(0, RUN("massif-ctl", "symbolize", places[i].debug_dir, "--debug-dir", DIR, "massif.rec")) {
			TH_LOG("%s", self->result.err);
		}
		if (places[i].says)
			EXPECT_NE(NULL, strstr(self->result.out, places[i].says)) {
				TH_LOG("it says: %s", self->result.out);
			}
		EXPECT_EQ(!places[i].found, is_unchanged(self));
		EXPECT_EQ(places[i].found, is_named(self));
	}
}

/* libdw refuses the debug information; the symbol table is whole. The other files have their names. */
TEST_F(symbolize, damaged_debug_information)
{
	ASSERT_TRUE(record(self, NULL));
	ASSERT_TRUE(shell(HERE "cd " DIR "; head -c 100000 /dev/zero | tr '\\0' '\\377' >wrong; "
			  "objcopy --update-section .debug_info=wrong --update-section .debug_abbrev=wrong debug ../" BY_ID));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "main;hidden_function 5000\n"));
	/* Lines and inlined calls are better than a function alone. */
	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_TRUE(is_named(self));
	/* What is there is not lost if nothing is found. */
	free(self->before);
	self->before = read_bytes("massif.rec", &self->size);
	ASSERT_TRUE(shell("rm -r " DIR "/bin " DIR "/dbg"));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "massif.rec"));
	EXPECT_TRUE(is_unchanged(self));
	EXPECT_TRUE(is_named(self));
}

/* What dwz has split off several debug files is in the same directory, by its own build id. */
TEST_F(symbolize, shared_debug_information)
{
	if (!shell("command -v dwz >/dev/null"))
		SKIP(return, "dwz is not installed");
	ASSERT_TRUE(record(self, NULL));
	ASSERT_TRUE(shell(HERE "cd " DIR "; cp debug one; cp debug two; dwz -m common one two; cp one ../" BY_ID));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_FALSE(is_named(self));
	write_bytes("massif.rec", self->before, self->size);
	ASSERT_TRUE(shell("set -e; id=$(readelf -n " DIR "/common 2>/dev/null | sed -n 's/.*Build ID: //p'); "
			  "mkdir -p $(dirname " BY_ID "); cp " DIR "/common " BY_ID));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_TRUE(is_named(self));
	/* A file in its place that has another build id is not used. */
	write_bytes("massif.rec", self->before, self->size);
	ASSERT_TRUE(shell("set -e; id=$(readelf -n " DIR "/common 2>/dev/null | sed -n 's/.*Build ID: //p'); cd " DIR "; "
			  "objcopy --dump-section .note.gnu.build-id=note common; "
			  "printf '\\\\000\\\\377' | dd of=note bs=1 seek=17 conv=notrunc 2>/dev/null; "
			  "objcopy --update-section .note.gnu.build-id=note common other; "
			  "! readelf -n other 2>/dev/null | grep -q $id; "
			  "readelf -n other 2>/dev/null | grep -q 'Build ID'; "
			  "cp other ../" BY_ID));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_FALSE(is_named(self));
}

TEST_F(symbolize, all_processes)
{
	unsigned long long pid = 0;
	const char *all;

	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, "fork"));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	ASSERT_EQ(1, RUN("massif-ctl", "export", "massif.rec"));
	all = strstr(self->result.err, "choose one with --pid:");
	ASSERT_NE(NULL, all);
	/* The child, which ended first, is the first in the list. */
	pid = strtoull(strchr(all, '\n') + 1 + strlen("massif-ctl: "), NULL, 10);
	for (int i = 0; i < 2; i++) {
		char option[64];

		snprintf(option, sizeof(option), "--pid=%llu", pid);
		ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "--at=end", option, "massif.rec")) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_NE(NULL, strstr(self->result.out, "main;hidden_function;inlined_call 5000\n"));
		EXPECT_EQ(!i, !!strstr(self->result.out, "main;only_in_the_child;inlined_call 5000\n"));
		ASSERT_EQ(1, RUN("massif-ctl", "export", "massif.rec"));
		pid = strtoull(ctl_last(self->result.err, "\nmassif-ctl: "), NULL, 10);
	}
}

/* A section of a file, with its head. */
struct part {
	uint32_t type;
	const char *bytes;
	size_t size;
};

static size_t find_parts(const char *bytes, size_t size, struct part parts[20])
{
	struct mf_section_reader reader = mf_section_reader(bytes, size);
	size_t n = 0;

	if (mf_section_check_magic(&reader, NULL))
		return 0;
	for (; n < 20; n++) {
		const char *begin = (const char *)reader.cursor.at;
		uint8_t *contents;
		size_t n_contents;

		if (mf_section_read(&reader, &parts[n].type, &contents, &n_contents, NULL) <= 0)
			return n;
		free(contents);
		parts[n].bytes = begin;
		parts[n].size = (size_t)((const char *)reader.cursor.at - begin);
	}
	return n;
}

/* Adds a section of a type that only later versions know before the end of the first process. */
static void add_section(FIXTURE_DATA(symbolize) *self)
{
	const struct mf_bytes contents = { .data = (uint8_t *)"what is to come", .size = 15 };
	struct mf_bytes file = { 0 };
	struct part parts[20];
	size_t n = find_parts(self->before, self->size, parts), before;

	if (!n || parts[n - 1].type != MF_SECTION_END)
		abort();
	before = (size_t)(parts[n - 1].bytes - self->before);
	mf_bytes_add(&file, self->before, before);
	if (mf_section_add(&file, (enum mf_section_type)77, &contents))
		abort();
	mf_bytes_add(&file, self->before + before, self->size - before);
	free(self->before);
	self->before = (char *)file.data;
	self->size = file.size;
	write_bytes("massif.rec", self->before, self->size);
}

TEST_F(symbolize, other_sections_are_kept)
{
	struct part before[20], now[20];
	size_t n, size, n_names = 0;
	bool later = false;
	char *bytes;

	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, NULL));
	add_section(self);
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
	EXPECT_TRUE(is_named(self));
	bytes = read_bytes("massif.rec", &size);
	n = find_parts(bytes, size, now);
	ASSERT_EQ(n, find_parts(self->before, self->size, before));
	EXPECT_LE(10, n);
	for (size_t i = 0; i < n; i++) {
		EXPECT_EQ(before[i].type, now[i].type);
		later |= now[i].type == 77;
		n_names += now[i].type == MF_SECTION_NAMES;
		if (now[i].type != MF_SECTION_NAMES)
			EXPECT_TRUE(before[i].size == now[i].size && !memcmp(before[i].bytes, now[i].bytes, now[i].size));
	}
	EXPECT_TRUE(later);
	EXPECT_EQ(1, n_names);
	free(bytes);
}

/* The file that a link leads to is replaced, and keeps its mode; -o leaves it as it is. */
TEST_F(symbolize, in_place_or_not)
{
	struct stat status;

	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, NULL));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "-q", "--debug-dir", DIR "/dbg", "-o", "massif.rec.1", "massif.rec"));
	EXPECT_STREQ("", self->result.out);
	EXPECT_STREQ("", self->result.err);
	EXPECT_TRUE(is_unchanged(self));
	ASSERT_EQ(0, symlink("massif.rec", "massif.rec.link"));
	ASSERT_EQ(0, chmod("massif.rec", 0640));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec.link"));
	EXPECT_TRUE(same_files("massif.rec", "massif.rec.1"));
	ASSERT_EQ(0, lstat("massif.rec.link", &status));
	EXPECT_TRUE(S_ISLNK(status.st_mode));
	ASSERT_EQ(0, lstat("massif.rec", &status));
	EXPECT_EQ(0640, status.st_mode & 07777);
	write_bytes("massif.rec", self->before, self->size);
	ASSERT_TRUE(shell("\"$MASSIF_BUILD\"/massif-ctl symbolize --debug-dir=" DIR "/dbg -o - massif.rec 2>massif.out.2 "
			  ">massif.rec.2"));
	EXPECT_TRUE(same_files("massif.rec.1", "massif.rec.2"));
}

static void limit_files(void)
{
	const struct rlimit limit = { 100, 100 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void become_another_user(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(126);
}

TEST_F(symbolize, what_cannot_be_written)
{
	static const char *const words[] = { "massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec", NULL };
	char *saved;

	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, NULL));
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, limit_files, words);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "/massif.rec': File too large")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_TRUE(is_unchanged(self));
	EXPECT_EQ(1, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "-o", "/dev/full", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "cannot write '/dev/full': No space left on device; saved as "));
	saved = ctl_saved_file(self->result.err);
	EXPECT_TRUE(is_unchanged(self));
	ASSERT_NE(NULL, saved);
	EXPECT_EQ(0, rename(saved, "massif.rec"));
	EXPECT_TRUE(is_named(self));
	free(saved);
}

TEST_F(symbolize, a_directory_of_another_user)
{
	static const char *const words[] = { "massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec", NULL };

	CTL_NEEDS_USER(65534);
	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, NULL));
	ASSERT_EQ(0, chmod("massif.rec", 0666));
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, become_another_user, words);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "/massif.rec': Permission denied")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_TRUE(is_unchanged(self));
}

static const struct {
	const char *words[2];
	const char *says;
} mistakes[] = {
	{ { "massif.rec.none" }, "cannot read 'massif.rec.none': No such file or directory" },
	{ { "massif.out.1" }, "it is a massif.out file, not a recording" },
	{ { "--debug-dir=none", "massif.rec" }, "--debug-dir=none: No such file or directory" },
	{ { "--debug-dir=massif.rec", "massif.rec" }, "--debug-dir=massif.rec: it is not a directory" },
	{ { "--debug-dir=", "massif.rec" }, "--debug-dir needs a directory" },
	{ { "--debuginfod", "massif.rec" }, "--debuginfod: no server is given: use --debuginfod=URL" },
	{ { "--debuginfod=", "massif.rec" }, "--debuginfod: no server is given: use --debuginfod=URL" },
	{ { "--to=json", "massif.rec" }, "Bad option: --to=json" },
	{ { NULL }, "no recording specified" },
};

TEST_F(symbolize, mistakes_are_explained)
{
	ASSERT_TRUE(record(self, NULL));
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		EXPECT_EQ(1, RUN("massif-ctl", "symbolize", mistakes[i].words[0], mistakes[i].words[1]));
		EXPECT_NE(NULL, strstr(self->result.err, mistakes[i].says)) {
			TH_LOG("%s: it says: %s", mistakes[i].says, self->result.err);
		}
		EXPECT_STREQ("", self->result.out);
	}
	EXPECT_TRUE(is_unchanged(self));
}

/* Wherever the recording ends, it is not replaced by a shorter one. */
TEST_F_TIMEOUT(symbolize, truncated, 120)
{
	ASSERT_TRUE(shell(HERE "cp " DIR "/debug " BY_ID));
	ASSERT_TRUE(record(self, "fork"));
	for (size_t size = self->size - 1; size > 16; size -= size > 101 ? 97 : 1) {
		ASSERT_EQ(0, truncate("massif.rec", (off_t)size));
		self->size = size;
		EXPECT_EQ(1, RUN("massif-ctl", "symbolize", "--debug-dir=" DIR "/dbg", "massif.rec"));
		EXPECT_NE(NULL, strstr(self->result.err, "it ends within")) {
			TH_LOG("%zu bytes: %s", size, self->result.err);
		}
		EXPECT_TRUE(is_unchanged(self));
	}
}

TEST_F(symbolize, without_a_build_id)
{
	char script[1024];

	snprintf(script, sizeof(script), HERE "objcopy -S %s " PROGRAM, ctl_target("heap_no_id"));
	ASSERT_TRUE(shell(script));
	ASSERT_TRUE(record(self, NULL));
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, PROGRAM ": it has no build-id, so its names cannot be looked up\n"));
	EXPECT_TRUE(is_unchanged(self));
}

/* Starts a server for the files in DIR/served. Returns its process id, and its address in @url. */
static pid_t start_server(char url[64])
{
	unsigned long port = 0;
	pid_t pid = ctl_start(NULL, (const char *const[]){
		"/bin/sh", "-c", "exec python3 -u -m http.server 0 --bind 127.0.0.1 --directory " DIR "/served >" DIR
		"/log 2>&1", NULL });

	for (int i = 0; i < 300 && !port; i++) {
		char *log = ctl_read_file(DIR "/log");

		port = log ? ctl_number(log, " port ") : 0;
		free(log);
		usleep(100000);
	}
	snprintf(url, 64, "--debuginfod=http://127.0.0.1:%lu", port);
	return pid;
}

static void stop_server(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_F_TIMEOUT(symbolize, from_a_server, 120)
{
	char url[64], *log;
	pid_t server;

	if (!dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL))
		SKIP(return, "libdebuginfod1 is not installed");
	setenv("DEBUGINFOD_CACHE_PATH", DIR "/cache", 1);
	ASSERT_TRUE(record(self, NULL));
	ASSERT_TRUE(shell(HERE "mkdir -p " DIR "/served/buildid/$id " DIR "/empty; cp " DIR "/debug " DIR
			  "/served/buildid/$id/debuginfo; rm -r " DIR "/bin"));
	server = start_server(url);
	/* Only if it is asked for. */
	EXPECT_EQ(0, RUN("massif-ctl", "symbolize", "massif.rec"));
	EXPECT_TRUE(is_unchanged(self));
	log = ctl_read_file(DIR "/log");
	EXPECT_EQ(NULL, strstr(log, "GET"));
	free(log);
	EXPECT_EQ(0, RUN("massif-ctl", "symbolize", url, "massif.rec")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_TRUE(is_named(self));
	/* It need not be the server's file: another build is not used. */
	write_bytes("massif.rec", self->before, self->size);
	ASSERT_TRUE(shell(HERE "rm -r " DIR "/cache; cp /bin/true " DIR "/served/buildid/$id/debuginfo"));
	EXPECT_EQ(0, RUN("massif-ctl", "symbolize", url, "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, ": not found (the files found for it have another build-id)"));
	EXPECT_TRUE(is_unchanged(self));
	ASSERT_TRUE(shell(HERE "rm -r " DIR "/cache " DIR "/served/buildid"));
	EXPECT_EQ(0, RUN("massif-ctl", "symbolize", url, "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, ": not found (No such file or directory)"));
	stop_server(server);
	ASSERT_TRUE(shell("rm -r " DIR "/cache"));
	EXPECT_EQ(1, RUN("massif-ctl", "symbolize", url, "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "a server could not be asked: Connection refused"));
	EXPECT_TRUE(is_unchanged(self));
}

/* Without the library, or with one that is not what it should be, only --debuginfod is refused. */
TEST_F(symbolize, without_the_library)
{
	ASSERT_TRUE(record(self, NULL));
	ASSERT_TRUE(shell("echo text >" DIR "/libdebuginfod.so.1"));
	setenv("LD_LIBRARY_PATH", DIR, 1);
	EXPECT_EQ(1, RUN("massif-ctl", "symbolize", "--debuginfod=http://127.0.0.1:1", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--debuginfod needs libdebuginfod.so.1 (Debian: apt install libdebuginfod1)"));
	EXPECT_EQ(0, RUN("massif-ctl", "symbolize", "massif.rec"));
	ASSERT_TRUE(shell("cp \"$(ldconfig -p | sed -n 's/.*=> //p' | grep -m1 /libz.so.1)\" " DIR "/libdebuginfod.so.1"));
	EXPECT_EQ(1, RUN("massif-ctl", "symbolize", "--debuginfod=http://127.0.0.1:1", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "libdebuginfod.so.1 is too old: it has no debuginfod_begin()"));
	unsetenv("LD_LIBRARY_PATH");
	EXPECT_TRUE(is_unchanged(self));
}

TEST_HARNESS_MAIN
