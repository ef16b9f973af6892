// SPDX-License-Identifier: GPL-2.0
// Unwind rules cached for later programs: cached rules are used and are correct, and a file that is invalid or does not
// belong to the user is ignored.
//
// To find out whether a file is used, the test forges one whose rows say that every stack ends at once. If this file is
// used, the stacks differ from libunwind's. With any other file, no stack may differ.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "elf/map.h"
#include "cfi/rowfile.h"

#define PLACE	 "rowcache.tmp"
#define SECONDS	 120
#define AT_ONCE	 6
#define OTHER	 65534 /* user id of a user other than the one who runs massif-ctl */

static char place[4096];
static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void clear(void)
{
	if (system("rm -rf " PLACE))
		abort();
}

FIXTURE(cache) {
	struct ctl_result result;
};

FIXTURE_SETUP(cache)
{
	char here[2048];

	seed = 1;
	ASSERT_NE(NULL, getcwd(here, sizeof(here)));
	snprintf(place, sizeof(place), "%s/" PLACE, here);
	clear();
	ASSERT_EQ(0, mkdir(place, 0755));
	setenv("XDG_CACHE_HOME", place, 1);
	setenv("MASSIF_VERIFY", "1", 1);
	self->result = (struct ctl_result){ 0 };
}

FIXTURE_TEARDOWN(cache)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	clear();
}

/* Runs @target. Returns how many of its stacks differ from libunwind's, or -1 if anything else is wrong. */
static int64_t run(struct ctl_result *result, const char *option, const char *target)
{
	uint64_t stacks, differ;
	const char *line;

	CTL_RUN(result, "massif-ctl", "-q", option, "--massif-out-file=massif.out.rows",
		ctl_target(target), "20");
	line = strstr(result->err, "verified ");
	if (ctl_exit_code(result) || result->out[0] || !line ||
	    sscanf(line, "verified %" SCNu64 " stacks with libunwind, %" SCNu64 " differ", &stacks,
		   &differ) != 2 || stacks < 500)
		return -1;
	return (int64_t)differ;
}

#define RUN(target) run(&self->result, "--unwind-cache=yes", target)

/* Counts the files in the directory whose names end in @end, and stores one of the names in @name. */
static int files(const char *end, char name[256])
{
	DIR *list = opendir(PLACE "/massif");
	struct dirent *entry;
	int n = 0;

	while (list && (entry = readdir(list))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length < strlen(end) ||
		    strcmp(entry->d_name + length - strlen(end), end))
			continue;
		snprintf(name, 256, "%s", entry->d_name);
		n++;
	}
	if (list)
		closedir(list);
	return n;
}

/* A file of the cache directory: its path, its name and its contents. */
struct bytes {
	char path[600], name[256];
	size_t size;
	union {
		struct mf_rowfile file;
		unsigned char bytes[1 << 20];
	};
};

static struct bytes right, wrong;

static bool load(struct bytes *to, const char *name)
{
	int fd;
	ssize_t n;

	if (name != to->name)
		snprintf(to->name, sizeof(to->name), "%s", name);
	snprintf(to->path, sizeof(to->path), PLACE "/massif/%s", name);
	fd = open(to->path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, to->bytes, sizeof(to->bytes));
	if (fd >= 0)
		close(fd);
	to->size = n > 0 ? (size_t)n : 0;
	return n > 0 && (size_t)n < sizeof(to->bytes);
}

static bool store(const struct bytes *from, size_t size, mode_t mode)
{
	int fd;
	bool done;

	unlink(from->path);
	fd = open(from->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return false;
	done = write(fd, from->bytes, size) == (ssize_t)size && !fchmod(fd, mode);
	return !close(fd) && done;
}

static bool is_right(const struct bytes *bytes, size_t size)
{
	return mf_rowfile_is_right(&bytes->file, size, right.file.build_id,
				   right.file.build_id_size);
}

/* Runs the program and keeps the cache file created for the program itself, identified by its build id. */
static bool make_right(struct ctl_result *result)
{
	struct mf_elf_map map;
	struct mf_object object = { .path = ctl_target("heap_stacks") };
	DIR *list;
	struct dirent *entry;
	bool found = false;

	if (run(result, "--unwind-cache=yes", "heap_stacks"))
		return false;
	list = opendir(PLACE "/massif");
	while (list && !found && (entry = readdir(list))) {
		if (!strstr(entry->d_name, ".rows") || !load(&right, entry->d_name))
			continue;
		memcpy(object.build_id, right.file.build_id, sizeof(object.build_id));
		object.build_id_size = right.file.build_id_size;
		found = !mf_elf_map_open(&map, &object);
		if (found)
			mf_elf_map_close(&map);
	}
	if (list)
		closedir(list);
	return found && is_right(&right, right.size) && right.file.n_rows >= 10;
}

/* Forges a version of the cache file in which the unwind rules make every stack end at its innermost frame. */
static void make_lie(void)
{
	wrong = right;
	for (uint32_t i = 0; i < wrong.file.n_rows; i++)
		wrong.file.rows[i].rule.cfa = MF_CFA_END;
	mf_rowfile_seal(&wrong.file);
}

/* Returns whether the cache file has its original contents again after the last run. */
static bool is_rebuilt(void)
{
	static struct bytes now;

	return load(&now, right.name) && is_right(&now, now.size);
}

TEST_F_TIMEOUT(cache, cold_and_warm, SECONDS)
{
	struct stat status;
	struct timespec before;
	char name[256];

	ASSERT_TRUE(make_right(&self->result));
	ASSERT_EQ(0, stat(PLACE "/massif", &status));
	EXPECT_EQ(0700, status.st_mode & 07777);
	ASSERT_EQ(0, stat(right.path, &status));
	EXPECT_EQ(0600, status.st_mode & 07777);
	EXPECT_EQ(files("", name), files(".rows", name) + files(".names", name));

	/*
	 * Stacks are correct when the cached rules are used, and a run that has no rules to add does not write the
	 * cache file.
	 */
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_EQ(0, RUN("heap_stacks"));
	ASSERT_EQ(0, stat(right.path, &status));
	before = status.st_mtim;
	EXPECT_EQ(0, RUN("heap_stacks"));
	ASSERT_EQ(0, stat(right.path, &status));
	EXPECT_EQ(before.tv_sec, status.st_mtim.tv_sec);
	EXPECT_EQ(before.tv_nsec, status.st_mtim.tv_nsec);
}

TEST_F_TIMEOUT(cache, is_used, SECONDS)
{
	ASSERT_TRUE(make_right(&self->result));
	make_lie();
	ASSERT_TRUE(store(&wrong, wrong.size, 0600));
	EXPECT_LT(100, RUN("heap_stacks"));
	/* With --unwind-cache=no, a cache file is neither used nor written. */
	EXPECT_EQ(0, run(&self->result, "--unwind-cache=no", "heap_stacks"));
	clear();
	ASSERT_EQ(0, mkdir(place, 0755));
	EXPECT_EQ(0, run(&self->result, "--unwind-cache=no", "heap_stacks"));
	EXPECT_NE(0, access(PLACE "/massif", F_OK));
}

TEST_F_TIMEOUT(cache, damaged, SECONDS)
{
	ASSERT_TRUE(make_right(&self->result));
	/* Whichever byte of the cache file is changed, the change is detected. */
	for (size_t i = 0; i < right.size; i++) {
		right.bytes[i] ^= (unsigned char)(1 + below(255));
		EXPECT_FALSE(is_right(&right, right.size));
		ASSERT_TRUE(load(&right, right.name));
	}
	for (int i = 0; i < 20000; i++) {
		wrong = right;
		for (uint64_t n = 1 + below(6); n; n--)
			wrong.bytes[below(wrong.size)] ^= (unsigned char)(1 + below(255));
		EXPECT_TRUE(!is_right(&wrong, wrong.size) ||
			    !memcmp(wrong.bytes, right.bytes, right.size));
	}
	for (size_t size = 0; size < right.size; size++)
		EXPECT_FALSE(is_right(&right, size));
	for (int i = 0; i < 12; i++) {
		make_lie();
		wrong.bytes[below(wrong.size)] ^= (unsigned char)(1 + below(255));
		ASSERT_TRUE(store(&wrong, i % 3 ? wrong.size : below(wrong.size), 0600));
		EXPECT_EQ(0, RUN("heap_stacks"));
		EXPECT_TRUE(is_rebuilt());
	}
	/* Replace the cache file with an empty file, and then with a link to /dev/zero, which has no end. */
	ASSERT_TRUE(store(&wrong, 0, 0600));
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_TRUE(is_rebuilt());
	unlink(right.path);
	ASSERT_EQ(0, symlink("/dev/zero", right.path));
	EXPECT_EQ(0, RUN("heap_stacks"));
}

TEST_F_TIMEOUT(cache, foreign, SECONDS)
{
	ASSERT_TRUE(make_right(&self->result));
	make_lie();
	wrong.file.version++;
	mf_rowfile_seal(&wrong.file);
	ASSERT_TRUE(store(&wrong, wrong.size, 0600));
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_TRUE(is_rebuilt());

	/* A cache file that was made for another object is not used. */
	make_lie();
	wrong.file.build_id[3] ^= 1;
	mf_rowfile_seal(&wrong.file);
	ASSERT_TRUE(store(&wrong, wrong.size, 0600));
	EXPECT_EQ(0, RUN("heap_stacks"));

	/* A cache file that others can write to is not used, nor is a symbolic link. */
	make_lie();
	ASSERT_TRUE(store(&wrong, wrong.size, 0620));
	EXPECT_EQ(0, RUN("heap_stacks"));
	make_lie();
	ASSERT_TRUE(store(&wrong, wrong.size, 0602));
	EXPECT_EQ(0, RUN("heap_stacks"));
	ASSERT_TRUE(store(&wrong, wrong.size, 0600));
	ASSERT_EQ(0, rename(wrong.path, PLACE "/elsewhere"));
	ASSERT_EQ(0, symlink("../elsewhere", wrong.path));
	EXPECT_EQ(0, RUN("heap_stacks"));

	if (geteuid())
		SKIP(return, "only root can give files away");
	unlink(wrong.path);
	ASSERT_TRUE(store(&wrong, wrong.size, 0600));
	ASSERT_EQ(0, chown(wrong.path, OTHER, OTHER));
	EXPECT_EQ(0, RUN("heap_stacks"));
}

/* If the directory belongs to another user or others can write to it, no cache file is added. */
TEST_F_TIMEOUT(cache, foreign_directory, SECONDS)
{
	char name[256];

	ASSERT_EQ(0, mkdir(PLACE "/massif", 0700));
	ASSERT_EQ(0, chmod(PLACE "/massif", 0777));
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_EQ(0, files("", name));
	ASSERT_EQ(0, rmdir(PLACE "/massif"));
	ASSERT_EQ(0, mkdir(PLACE "/theirs", 0700));
	ASSERT_EQ(0, symlink("theirs", PLACE "/massif"));
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_EQ(0, files("", name));
	if (geteuid())
		SKIP(return, "only root can give directories away");
	ASSERT_EQ(0, unlink(PLACE "/massif"));
	ASSERT_EQ(0, mkdir(PLACE "/massif", 0700));
	ASSERT_EQ(0, chown(PLACE "/massif", OTHER, OTHER));
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_EQ(0, files("", name));
}

/* Nothing is kept of a program whose file another user can change. */
TEST_F_TIMEOUT(cache, files_of_others, SECONDS)
{
	static const struct {
		uid_t owner;
		gid_t group;
		mode_t mode;
		bool kept;
	} cases[] = {
		{ 0, 0, 0755, true },	  { 0, 0, 0775, true },	     { OTHER, OTHER, 0755, false },
		{ 0, OTHER, 0755, true }, { 0, OTHER, 0775, false }, { 0, 0, 0757, false },
	};
	static const char program[] = PLACE "/program";

	if (geteuid())
		SKIP(return, "only root can give files away");
	ASSERT_TRUE(make_right(&self->result));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CTL_RUN(&self->result, "cp", ctl_target("heap_stacks"), program);
		ASSERT_EQ(0, chown(program, cases[i].owner, cases[i].group));
		ASSERT_EQ(0, chmod(program, cases[i].mode));
		unlink(right.path);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--massif-out-file=massif.out.rows", program, "20");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_EQ(cases[i].kept, !access(right.path, F_OK)) {
			TH_LOG("case %zu", i);
		}
		unlink(program);
	}
}

/* If the cache directory cannot be created, there is no message, and nothing else changes. */
TEST_F_TIMEOUT(cache, no_directory, SECONDS)
{
	static const char *const places[] = { "/proc", "/dev/null", "relative", "" };
	const char *text;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		setenv("XDG_CACHE_HOME", places[i], 1);
		setenv("HOME", i % 2 ? "/proc/self" : place, 1);
		EXPECT_EQ(0, RUN("heap_stacks"));
		text = strstr(self->result.err, "verified");
		EXPECT_NE(NULL, text);
		EXPECT_EQ(text, strrchr(self->result.err, ':') + 2);
	}
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	EXPECT_EQ(0, RUN("heap_stacks"));
	/* The runs with a usable HOME, the first and the third, created the cache there. */
	EXPECT_EQ(0, access(PLACE "/.cache/massif", X_OK));
}

TEST_F_TIMEOUT(cache, at_once, SECONDS)
{
	pid_t pids[AT_ONCE];
	char name[256];
	int status;

	for (int i = 0; i < AT_ONCE; i++) {
		char out[64];

		snprintf(out, sizeof(out), "--massif-out-file=massif.out.%d", i);
		pids[i] = ctl_start(NULL, (const char *const[]){ "massif-ctl", "-q", out,
								 ctl_target("heap_stacks"), "20",
								 NULL });
	}
	for (int i = 0; i < AT_ONCE; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_LE(1, files(".rows", name));
	EXPECT_EQ(files("", name), files(".rows", name) + files(".names", name));
	EXPECT_TRUE(make_right(&self->result));
	EXPECT_EQ(0, RUN("heap_stacks"));
}

TEST_F_TIMEOUT(cache, without_build_id, SECONDS)
{
	struct mf_elf_map map;
	struct mf_object object = { .path = ctl_target("heap_no_id"), .build_id_size = 20 };
	char name[256];
	int n;

	EXPECT_EQ(-ESTALE, mf_elf_map_open(&map, &object));
	EXPECT_EQ(0, RUN("heap_no_id"));
	n = files(".rows", name);
	EXPECT_EQ(0, RUN("heap_stacks"));
	EXPECT_EQ(n + 1, files(".rows", name));
}

/* The number of files in the cache directory is limited, no matter how many programs have been run. */
TEST_F_TIMEOUT(cache, has_a_bound, SECONDS)
{
	char path[600], name[256];

	ASSERT_EQ(0, mkdir(PLACE "/massif", 0700));
	for (int i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), PLACE "/massif/%040d.rows", i);
		ctl_write_file(path, "", 0600);
	}
	ASSERT_TRUE(make_right(&self->result));
	EXPECT_GE(512, files(".rows", name));
	EXPECT_LE(300, files(".rows", name));
}

/* The rules in libc's mapped file are the same as those in its loaded image. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	struct mf_object *object = data;

	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	object->path = info->dlpi_name;
	object->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const char *note = (const char *)(info->dlpi_addr + header->p_vaddr);
		const ElfW(Nhdr) *head = (const void *)note;

		if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
			object->start = info->dlpi_addr + header->p_vaddr;
			object->end = object->start + header->p_memsz;
		}
		if (header->p_type == PT_NOTE && head->n_type == NT_GNU_BUILD_ID) {
			memcpy(object->build_id, note + sizeof(*head) + 4, head->n_descsz);
			object->build_id_size = (uint8_t)head->n_descsz;
		}
	}
	return 1;
}

static struct mf_row row_of_loaded(uint64_t pc)
{
	struct dl_find_object found;
	struct mf_rows_object object;

	if (_dl_find_object((void *)(uintptr_t)pc, &found))
		return (struct mf_row){ 0 };
	object = (struct mf_rows_object){ found.dlfo_map_start, found.dlfo_map_end,
					  found.dlfo_eh_frame };
	return mf_rows_find(&object, pc);
}

/* Returns a valid row file with @n rows, which the caller must free. */
static struct mf_rowfile *make_rows(uint32_t n)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct mf_rowfile *file = malloc(mf_rowfile_size(n));

	if (!file)
		abort();
	mf_rowfile_init(file, id, sizeof(id));
	file->n_rows = n;
	for (uint32_t i = 0; i < n; i++)
		file->rows[i] = (struct mf_rowfile_row){
			.start = 16 * i, .end = 16 * i + 16,
			.rule = { .cfa = MF_CFA_SP, .cfa_offset = (int32_t)(8 * (1 + i % 2)) },
		};
	mf_rowfile_seal(file);
	return file;
}

/* A file with more rows than allowed is ignored. */
TEST(rows_of_a_file)
{
	static const uint32_t counts[] = { MF_ROWFILE_ROWS_MAX, MF_ROWFILE_ROWS_MAX + 1, 10 * MF_ROWFILE_ROWS_MAX };
	char name[] = "massif.rows";

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct mf_rowfile *file = make_rows(counts[i]), *read;
		size_t size = mf_rowfile_size(counts[i]);
		FILE *out = fopen(name, "w");

		ASSERT_NE(NULL, out);
		ASSERT_EQ(size, fwrite(file, 1, size, out));
		ASSERT_EQ(0, fclose(out));
		ASSERT_EQ(0, chmod(name, 0600));
		EXPECT_EQ(counts[i] <= MF_ROWFILE_ROWS_MAX,
			  mf_rowfile_is_right(file, size, file->build_id, file->build_id_size));
		read = mf_rowfile_read(AT_FDCWD, name, file->build_id, file->build_id_size, &size);
		EXPECT_EQ(counts[i] <= MF_ROWFILE_ROWS_MAX, read != NULL) {
			TH_LOG("%u rows", counts[i]);
		}
		if (read)
			munmap(read, size);
		free(file);
	}
	unlink(name);
}

TEST(mapped_as_loaded)
{
	struct mf_object libc = { 0 };
	struct mf_elf_map map;
	int rows = 0;

	seed = 7;
	ASSERT_EQ(1, dl_iterate_phdr(find_libc, &libc));
	if (!libc.build_id_size)
		SKIP(return, "libc has no build id where it is looked for");
	ASSERT_EQ(0, mf_elf_map_open(&map, &libc));
	for (int i = 0; i < 100000; i++) {
		uint64_t pc = libc.start + below(libc.end - libc.start);
		struct mf_row loaded = row_of_loaded(pc);
		struct mf_row mapped = mf_rows_find(&map.object, pc - libc.bias + map.bias);

		ASSERT_EQ(loaded.rule.cfa, mapped.rule.cfa);
		if (!mf_rowfile_holds(&loaded.rule))
			continue;
		rows++;
		ASSERT_EQ(0, memcmp(&loaded.rule, &mapped.rule, sizeof(loaded.rule)));
		ASSERT_EQ(loaded.start - libc.bias, mapped.start - map.bias);
		ASSERT_EQ(loaded.end - libc.bias, mapped.end - map.bias);
		ASSERT_LE(loaded.start, pc);
		ASSERT_LT(pc, loaded.end);
		/* Looking up any address covered by an unwind row finds that row. */
		mapped = row_of_loaded(loaded.start + below(loaded.end - loaded.start));
		ASSERT_EQ(0, memcmp(&loaded, &mapped, sizeof(loaded)));
	}
	EXPECT_LT(50000, rows);
	mf_elf_map_close(&map);
}

/* If unwind tables are damaged, the code that reads them never reads outside the object, and never loops forever. */
TEST(damaged_tables)
{
	struct mf_object libc = { 0 };
	struct mf_rows_object copy;
	struct mf_elf_map map;
	uint8_t *memory;
	size_t tables;

	seed = 11;
	ASSERT_EQ(1, dl_iterate_phdr(find_libc, &libc));
	if (!libc.build_id_size)
		SKIP(return, "libc has no build id where it is looked for");
	ASSERT_EQ(0, mf_elf_map_open(&map, &libc));
	/* The copy of the object is followed by inaccessible memory, so that a read beyond the object crashes. */
	memory = mmap(NULL, map.size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	ASSERT_EQ(0, mprotect(memory, map.size / 4096 * 4096, PROT_READ | PROT_WRITE));
	memcpy(memory, map.memory, map.size / 4096 * 4096);
	copy.start = memory;
	copy.end = memory + map.size / 4096 * 4096;
	copy.header = memory + (map.object.header - map.object.start);
	tables = (size_t)(copy.end - copy.header);
	if (tables > 400000)
		tables = 400000; /* size of .eh_frame_hdr and .eh_frame together */
	for (int i = 0; i < 200; i++) {
		uint8_t *header = memory + (copy.header - copy.start);

		for (int n = 0; n < 2000; n++)
			header[below(i % 2 ? tables : 64)] = (uint8_t)below(256);
		header[0] = 1;
		header[1] = 0x1b;
		header[2] = 0x03;
		header[3] = 0x3b;
		for (int n = 0; n < 500; n++)
			mf_rows_find(&copy, (uint64_t)(uintptr_t)memory + below(map.size));
		if (i % 10 == 9)
			memcpy(memory, map.memory, map.size / 4096 * 4096);
	}
	munmap(memory, map.size + 4096);
	mf_elf_map_close(&map);
}

TEST_HARNESS_MAIN
