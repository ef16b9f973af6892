// SPDX-License-Identifier: GPL-2.0
// Files that are deleted, moved, replaced or overwritten while their code is mapped: their symbol names are still
// found, or a message reports that they are missing, and no name is taken from another build.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "selftests/lib/ctl_run.h"
#include "base/held.h"

#define SAYS "massif-ctl: no symbol names for '"

FIXTURE(replaced) {
	struct ctl_result result;
	char directory[PATH_MAX];
};

FIXTURE_VARIANT(replaced) {
	const char *ways;
	const char *command; /* command that runs in the directory r.files while the program runs */
	const char *before;  /* command that runs in the directory r.files before the program starts */
	bool no_build_ids;
	bool needs_mapping; /* true if massif-ctl can read the symbol names only through the process's mapping */
	const char *library, *program; /* why the library and the program have no symbol names; NULL: they have names */
};

#define OVERWRITTEN "it was overwritten while it was mapped"
#define WRITTEN	    "it was written to or replaced while it was mapped, and it has no build id"

FIXTURE_VARIANT_ADD(replaced, nothing) { .ways = "", .command = ":" };
FIXTURE_VARIANT_ADD(replaced, deleted) { .ways = "", .command = "rm lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, moved) { .ways = "", .command = "mv lib.so l; mv prog p" };
FIXTURE_VARIANT_ADD(replaced, moved_and_linked) { .ways = "", .command = "mv lib.so l; ln -s other.so lib.so" };
FIXTURE_VARIANT_ADD(replaced, upgraded) { .ways = "", .command = "mv other.so lib.so; mv other prog" };
FIXTURE_VARIANT_ADD(replaced, replaced_by_text) { .ways = "", .command = "rm lib.so prog; echo >lib.so; echo >prog" };
FIXTURE_VARIANT_ADD(replaced, replaced_by_directories) { .ways = "", .command = "rm lib.so prog; mkdir lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, whole_directory_deleted) { .ways = "", .command = "rm -r $PWD" };
FIXTURE_VARIANT_ADD(replaced, whole_directory_moved) { .ways = "", .command = "mv $PWD $PWD.old; mkdir $PWD" };
FIXTURE_VARIANT_ADD(replaced, not_to_be_read) { .ways = "", .command = "chmod 0 lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, touched) { .ways = "", .command = "touch lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, overwritten) {
	.ways = "", .command = "cat other.so >lib.so", .library = OVERWRITTEN,
};
FIXTURE_VARIANT_ADD(replaced, overwritten_by_itself) { .ways = "", .command = "cp lib.so l; cat l >lib.so" };
FIXTURE_VARIANT_ADD(replaced, emptied) { .ways = "", .command = ": >lib.so", .library = OVERWRITTEN };
FIXTURE_VARIANT_ADD(replaced, overwritten_and_installed_anew) {
	.ways = "", .command = "cp lib.so l; cat other.so >lib.so; mv l lib.so",
};
FIXTURE_VARIANT_ADD(replaced, no_ids_deleted) {
	.ways = "", .command = "rm lib.so prog", .no_build_ids = true,
};
FIXTURE_VARIANT_ADD(replaced, no_ids_upgraded) {
	.ways = "", .command = "mv other.so lib.so; mv other prog", .no_build_ids = true,
};
FIXTURE_VARIANT_ADD(replaced, no_ids_overwritten) {
	.ways = "", .command = "cat other.so >lib.so", .no_build_ids = true, .library = WRITTEN,
};
FIXTURE_VARIANT_ADD(replaced, no_ids_emptied) {
	.ways = "", .command = ": >lib.so", .no_build_ids = true, .library = WRITTEN,
};
/* touch(1) changes the file's times, so massif-ctl must assume that the file was modified. */
FIXTURE_VARIANT_ADD(replaced, no_ids_touched) {
	.ways = "", .command = "touch lib.so prog", .no_build_ids = true, .library = WRITTEN,
	.program = WRITTEN,
};
FIXTURE_VARIANT_ADD(replaced, closed_and_deleted) { .ways = "c", .command = "rm lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, closed_and_upgraded) {
	.ways = "c", .command = "mv other.so lib.so; mv other prog",
};
FIXTURE_VARIANT_ADD(replaced, forks_deleted) { .ways = "f", .command = "rm lib.so prog" };
FIXTURE_VARIANT_ADD(replaced, forks_upgraded) { .ways = "f", .command = "mv other.so lib.so; mv other prog" };
FIXTURE_VARIANT_ADD(replaced, at_once_deleted) {
	.ways = "n", .command = "rm lib.so prog", .needs_mapping = true,
};
FIXTURE_VARIANT_ADD(replaced, at_once_upgraded) {
	.ways = "n", .command = "mv other.so lib.so; mv other prog", .needs_mapping = true,
};
/*
 * massif-ctl is stopped until the program has ended, so it cannot open the library while the library is mapped. It had
 * already opened the program's file before starting the program.
 */
FIXTURE_VARIANT_ADD(replaced, at_once_and_it_ends) {
	.ways = "ns", .command = "rm lib.so prog", .library = "No such file or directory",
};
FIXTURE_VARIANT_ADD(replaced, upgraded_at_once_and_it_ends) {
	.ways = "ns", .command = "mv other.so lib.so; mv other prog",
	.library = "the file was replaced by another one",
};
/* The cache has the names of the build that is now at the path; they are not used for the build that is mapped. */
FIXTURE_VARIANT_ADD(replaced, by_the_build_of_the_cache) {
	.ways = "", .before = "cp lib.so a.so; mv other.so lib.so; run; mv lib.so other.so; mv a.so lib.so",
	.command = "mv other.so lib.so",
};
FIXTURE_VARIANT_ADD(replaced, overwritten_by_the_build_of_the_cache) {
	.ways = "", .before = "cp lib.so a.so; mv other.so lib.so; run; mv lib.so other.so; mv a.so lib.so",
	.command = "cat other.so >lib.so", .library = OVERWRITTEN,
};

static void remove_all(void)
{
	if (system("rm -rf r.files r.files.old r.cache r.out*"))
		exit(98);
}

static void shell(const char *command)
{
	char line[1024];

	/*
	 * @command may call the shell function run(), which profiles the program. massif-ctl then caches the symbol
	 * names of that run.
	 */
	snprintf(line, sizeof(line),
		 "cd r.files; run() { \"%s\" -q --time-unit=B --massif-out-file=../r.out.before ./prog "
		 "$PWD/lib.so n :; test $? = 3; }; %s",
		 ctl_path(), command);
	if (system(line))
		exit(97);
}

FIXTURE_SETUP(replaced)
{
	char line[4 * PATH_MAX], targets[PATH_MAX];

	remove_all();
	setenv("HOME", "/nonexistent", 1);
	unsetenv("MASSIF_OPTS");
	ASSERT_NE(NULL, getcwd(self->directory, sizeof(self->directory)));
	snprintf(line, sizeof(line), "%s/r.cache", self->directory);
	setenv("XDG_CACHE_HOME", line, 1);
	snprintf(targets, sizeof(targets), "%s", ctl_target(""));
	snprintf(line, sizeof(line),
		 "mkdir r.files; cd r.files; t=%s; cp $t/symbols_replaced prog; cp $t/libheap_plugin_a.so lib.so;"
		 "cp $t/libheap_plugin_b.so other.so; cp $t/heap_dlclose other",
		 targets);
	ASSERT_EQ(0, system(line));
	if (variant->no_build_ids) {
		shell("for i in *; do objcopy -R .note.gnu.build-id $i 2>/dev/null; done; "
		      "! readelf -n * | grep -q 'Build ID'");
	}
	if (variant->before)
		shell(variant->before);
}

FIXTURE_TEARDOWN(replaced)
{
	ctl_result_free(&self->result);
	remove_all();
}

/* Returns the text from the last occurrence of @line to the end; "" if there is none. */
static const char *last_tree(const char *text, const char *line)
{
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, line)); at++)
		found = at;
	return found ? found : "";
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/*
 * Returns the text after the address in a line of the tree. @line points to the colon before the number of bytes: for
 * ": 1000000 0x401136: main (a.c:3)", the text is "main (a.c:3)", followed by the rest of the file.
 */
static const char *name_of(const char *line)
{
	const char *name = strstr(line, ": ");

	name = name ? strstr(name + 2, ": ") : NULL;
	return name ? name + 2 : "";
}

static void expect_names(struct __test_metadata *_metadata, const FIXTURE_VARIANT(replaced) * variant,
			 const char *path)
{
	char *text = ctl_read_file(path);
	const char *library, *program;

	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	library = name_of(last_tree(text, ": 1000000 0x"));
	library = name_of(strstr(last_tree(text, "heap_tree=peak"), ": 1000000 0x") ?: "");
	program = name_of(strstr(last_tree(text, "heap_tree=peak"), ": 3000000 0x") ?: "");
	EXPECT_TRUE(begins(library, variant->library ? "??? (in /" : "allocate_in_a (libheap_plugin_a.c:")) {
		TH_LOG("%.60s", library);
	}
	EXPECT_TRUE(begins(program, variant->program ? "??? (in /" : "of_program (symbols_replaced.c:")) {
		TH_LOG("%.60s", program);
	}
	/* A library without symbol names is shown with the path at which it was mapped. */
	if (variant->library) {
		EXPECT_NE(NULL, strstr(library, "/r.files/lib.so)\n"));
	}
	EXPECT_EQ(NULL, strstr(text, "allocate_in_b"));
	EXPECT_EQ(NULL, strstr(text, "(deleted)"));
	free(text);
}

static void expect_said(struct __test_metadata *_metadata, const char *err, const char *file, const char *why)
{
	char said[2 * PATH_MAX];
	const char *at;

	snprintf(said, sizeof(said), SAYS "%s': %s\n", file, why ? why : "");
	at = strstr(err, said);
	EXPECT_EQ(why != NULL, at != NULL) {
		TH_LOG("%s", err);
	}
	/* The message about this file must be printed only once. */
	EXPECT_EQ(NULL, at ? strstr(at + 1, said) : NULL);
}

TEST_F(replaced, names)
{
	char program[PATH_MAX + 64], library[PATH_MAX + 64], command[PATH_MAX + 256], name[256];

	if (variant->needs_mapping && geteuid())
		SKIP(return, "only root may look at mappings whose files are gone");
	snprintf(program, sizeof(program), "%s/r.files/prog", self->directory);
	snprintf(library, sizeof(library), "%s/r.files/lib.so", self->directory);
	snprintf(command, sizeof(command), "cd '%s/r.files'; %s", self->directory, variant->command);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
		"--massif-out-file=r.out", program, library, variant->ways, command);
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	expect_names(_metadata, variant, "r.out");
	expect_said(_metadata, self->result.err, library, variant->library);
	expect_said(_metadata, self->result.err, program, variant->program);
	if (!variant->library && !variant->program) {
		EXPECT_EQ(NULL, strstr(self->result.err, SAYS)) {
			TH_LOG("%s", self->result.err);
		}
	}
	if (strchr(variant->ways, 'f')) {
		/*
		 * The forked child must have a massif.out file. There may be another one from the child in which the
		 * program's call to system() executes @command; that file does not matter here.
		 */
		ASSERT_LE(1, ctl_find_files("r.out.", name));
		expect_names(_metadata, variant, name);
	}
}

/* The table of files that are held open. */
FIXTURE(held) {
	struct mf_held *held;
	char directory[PATH_MAX];
};

enum { MAX = 8 };

FIXTURE_SETUP(held)
{
	remove_all();
	ASSERT_EQ(0, mkdir("r.files", 0755));
	ASSERT_NE(NULL, getcwd(self->directory, sizeof(self->directory)));
	self->held = mf_held_create(MAX);
	ASSERT_NE(NULL, self->held);
}

FIXTURE_TEARDOWN(held)
{
	mf_held_destroy(self->held);
	remove_all();
}

static struct mf_held_file *take(struct mf_held *held, const char *directory, int number, struct stat *status)
{
	char path[PATH_MAX + 64], text[16];

	snprintf(path, sizeof(path), "%s/r.files/%d", directory, number);
	snprintf(text, sizeof(text), "%d", number);
	if (access(path, F_OK))
		ctl_write_file(path, text, 0644);
	if (stat(path, status))
		return NULL;
	return mf_held_take(held, &(struct mf_held_mapping){
		.pid = getpid(), .path = path, .file = mf_file_identity(status),
	});
}

/* Returns the number that @file contains, or -errno. */
static int number_in(const struct mf_held_file *file)
{
	mf_auto_close int fd = mf_held_open(file);
	char text[16] = "";

	if (fd < 0)
		return fd;
	return pread(fd, text, sizeof(text) - 1, 0) < 0 ? -errno : atoi(text);
}

/*
 * The table keeps at most MAX files open. Tested with one file fewer than that, with MAX files, with one more, and with
 * ten times as many.
 */
TEST_F(held, bound)
{
	static const int numbers[] = { MAX - 1, MAX, MAX + 1, 10 * MAX };
	struct mf_held_file *files[10 * MAX];
	struct stat status;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (int n = 0; n < numbers[i]; n++) {
			files[n] = take(self->held, self->directory, n, &status);
			ASSERT_NE(NULL, files[n]);
		}
		EXPECT_EQ(numbers[i] < MAX ? numbers[i] : MAX, (int)mf_held_count(self->held));
		for (int n = 0; n < numbers[i]; n++)
			EXPECT_EQ(n, number_in(files[n]));
		/*
		 * Files that are held open can be read even after they have been removed; the other files are reported
		 * as missing.
		 */
		ASSERT_EQ(0, system("rm r.files/*"));
		for (int n = 0; n < numbers[i]; n++)
			EXPECT_EQ(n < MAX ? n : -ENOENT, number_in(files[n]));
		/* Other files with the same names are not mistaken for the original ones. */
		for (int n = 0; n < numbers[i]; n++) {
			char path[64];

			snprintf(path, sizeof(path), "r.files/.%d", n);
			ctl_write_file(path, "other", 0644);
		}
		ASSERT_EQ(0, system("cd r.files; for i in .[0-9]*; do cp $i ${i#.}; done"));
		for (int n = 0; n < numbers[i]; n++)
			EXPECT_EQ(n < MAX ? n : -ESTALE, number_in(files[n]));
		ASSERT_EQ(0, system("rm -r r.files; mkdir r.files"));
		for (int n = 0; n < numbers[i]; n++)
			mf_held_release(self->held, files[n]);
		EXPECT_EQ(0, mf_held_count(self->held));
	}
}

/* At most MF_HELD_MAX files are held open, even if the descriptor limit allows more. */
TEST_F_TIMEOUT(held, own_bound, 120)
{
	static const int numbers[] = { MF_HELD_MAX, MF_HELD_MAX + 1, 10 * MF_HELD_MAX };
	struct mf_held *held = mf_held_create(MF_HELD_MAX);
	struct mf_held_file **files = calloc(10 * MF_HELD_MAX, sizeof(*files));
	struct rlimit limit;
	struct stat status;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur < MF_HELD_MAX * MF_HELD_SHARE)
		SKIP(return, "the limit of descriptors is below four times the bound (ulimit -Hn)");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (int n = 0; n < numbers[i]; n++)
			files[n] = take(held, self->directory, n, &status);
		EXPECT_EQ(MF_HELD_MAX, mf_held_count(held));
		for (int n = 0; n < numbers[i]; n++)
			ASSERT_EQ(n, number_in(files[n]));
		ASSERT_EQ(0, system("rm -r r.files; mkdir r.files"));
		for (int n = 0; n < numbers[i]; n++) {
			ASSERT_EQ(n < (int)MF_HELD_MAX ? n : -ENOENT, number_in(files[n]));
			mf_held_release(held, files[n]);
		}
	}
	mf_held_destroy(held);
	free(files);
}

/*
 * massif-ctl uses only a fraction of the descriptor limit (1/MF_HELD_SHARE) to keep mapped files open, so that
 * descriptors remain for profiles.
 */
TEST_F(held, share_of_descriptors)
{
	struct rlimit limit;
	struct stat status;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (MAX - 2) * MF_HELD_SHARE;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	for (int n = 0; n < MAX; n++)
		EXPECT_NE(NULL, take(self->held, self->directory, n, &status));
	EXPECT_EQ(MAX - 2, mf_held_count(self->held));
}

TEST_F(held, users)
{
	struct stat status;
	struct mf_held_file *one = take(self->held, self->directory, 1, &status);
	struct mf_held_file *again = take(self->held, self->directory, 1, &status);

	EXPECT_EQ(one, again);
	EXPECT_EQ(one, mf_held_use(self->held, one));
	EXPECT_EQ(1, mf_held_count(self->held));
	mf_held_release(self->held, one);
	mf_held_release(self->held, one);
	EXPECT_EQ(1, mf_held_count(self->held));
	mf_held_release(self->held, one);
	EXPECT_EQ(0, mf_held_count(self->held));
	EXPECT_EQ(NULL, mf_held_use(self->held, NULL));
	mf_held_release(self->held, NULL);
}

/* A mapped file was replaced before massif-ctl could open it. */
TEST_F(held, another_file)
{
	struct stat old, now;
	struct mf_held_file *file = take(self->held, self->directory, 1, &old), *other;
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/r.files/1", self->directory);
	ctl_write_file("r.files/new", "2", 0644);
	ASSERT_EQ(0, rename("r.files/new", path));
	other = take(self->held, self->directory, 1, &now);
	EXPECT_NE(file, other);
	EXPECT_EQ(1, number_in(file));
	EXPECT_EQ(2, number_in(other));
	mf_held_release(self->held, file);
	file = mf_held_take(self->held, &(struct mf_held_mapping){
		.path = path, .file = mf_file_identity(&old),
	});
	EXPECT_EQ(-ESTALE, number_in(file));
}

TEST_F(held, what_changes)
{
	struct stat status;
	struct mf_held_file *file = take(self->held, self->directory, 1, &status);
	mf_auto_close int fd = mf_held_open(file);

	EXPECT_TRUE(mf_held_is_of(file, fd));
	EXPECT_FALSE(mf_held_has_changed(file, fd));
	ASSERT_EQ(0, system("chmod 600 r.files/1; ln r.files/1 r.files/2; rm r.files/1"));
	EXPECT_FALSE(mf_held_has_changed(file, fd));
	ASSERT_EQ(0, system("echo >>r.files/2"));
	EXPECT_TRUE(mf_held_has_changed(file, fd));
}

/*
 * The mapping by which a deleted file was reported has been replaced in part since, as the dynamic linker does. The file
 * is opened through what is left. Needs the privilege for /proc/PID/map_files.
 */
TEST_F(held, deleted_when_its_mapping_has_changed)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct mf_held_file *file;
	struct stat status;
	char path[PATH_MAX + 64];
	char *map;
	int fd;

	if (geteuid())
		SKIP(return, "/proc/PID/map_files is for root");
	snprintf(path, sizeof(path), "%s/r.files/1", self->directory);
	ctl_write_file(path, "1", 0644);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(0, ftruncate(fd, (off_t)(3 * page)));
	ASSERT_EQ(0, fstat(fd, &status));
	map = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(map, mmap(map, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	close(fd);
	ASSERT_EQ(0, unlink(path));
	file = mf_held_take(self->held, &(struct mf_held_mapping){
		.pid = getpid(), .path = path, .file = mf_file_identity(&status),
		.start = (uintptr_t)map, .end = (uintptr_t)map + 3 * page,
	});
	EXPECT_EQ(1, number_in(file));
	munmap(map, 3 * page);
}

/* A file that cannot be mapped is not opened, since opening it could block. */
TEST_F(held, what_is_no_file)
{
	static const char *const paths[] = { "/dev/null", "/", "/dev/stdin", "r.files/pipe", "r.files/none" };

	ASSERT_EQ(0, mkfifo("r.files/pipe", 0600));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct mf_held_file *file = mf_held_take(self->held, &(struct mf_held_mapping){
			.path = paths[i],
		});

		ASSERT_NE(NULL, file);
		EXPECT_GT(0, mf_held_open(file));
		EXPECT_EQ(NULL, mf_held_take_path(self->held, paths[i]));
	}
	EXPECT_EQ(0, mf_held_count(self->held));
}

TEST_HARNESS_MAIN
