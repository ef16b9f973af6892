// SPDX-License-Identifier: GPL-2.0
// Files that are no recordings, or are made to be slow or large to read: each is refused with a message, or read in
// little time and memory.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "base/memory_limit.h"
#include "ctl/query/query.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "selftests/lib/ctl_run.h"

#define LINE_MOST    (16u << 20) /* BYTES_OF_LINE_MAX in userland/recording/massif_text.c */
#define NAME_MOST    65536u	 /* NAME_BYTES_MAX in userland/recording/reader.c */
#define OBJECTS_MOST (1u << 20)	 /* OBJECTS_MAX there */
#define LITTLE	     (90u << 20) /* less memory than so many objects take, and more than the rest does */

FIXTURE(hostile)
{
	struct ctl_result result;
};

FIXTURE_SETUP(hostile)
{
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(hostile)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

/* Returns the processor time of this process, in seconds: on a busy machine, the clock says little. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The commands that read recordings, with the words before the file, and the status of those that cannot read it. */
static const struct {
	const char *words[3];
	int status;
} commands[] = {
	{ { "show" }, 1 },
	{ { "show", "--tree" }, 1 },
	{ { "diff", "massif.good" }, 2 },
	{ { "check", "--max-peak=1" }, 2 },
	{ { "export" }, 1 },
	{ { "export", "--to=callgrind" }, 1 },
	{ { "export", "--to=collapsed" }, 1 },
	{ { "export", "--to=speedscope" }, 1 },
	{ { "export", "--to=pprof" }, 1 },
	{ { "export", "--to=json" }, 1 },
	{ { "report", "--output=-" }, 1 },
	{ { "symbolize" }, 1 },
};

static void record(struct ctl_result *result, const char *name)
{
	char option[64];

	snprintf(option, sizeof(option), "--record=%s", name);
	CTL_RUN(result, "massif-ctl", "record", "-q", option, "--massif-out-file=massif.out", ctl_target("heap_example"));
}

static const struct {
	const char *path, *says;
} others[] = {
	{ "massif.empty", "it is not a recording: it is empty" },
	{ "massif.directory", "it is not a regular file" },
	{ "massif.fifo", "it is not a regular file" },
	{ "massif.missing", "No such file or directory" },
	{ "massif.sparse", "it is not a recording" },
	{ "massif.zeros", "line 1: it has more than 16777216 bytes" },
	{ "massif.binary", "line 2: it has a NUL" },
	{ "/dev/zero", "it is not a regular file" },
	{ "/dev/null", "it is not a regular file" },
	{ "/dev/full", "it is not a regular file" },
	{ "/proc/self/mem", "Input/output error" },
	{ "/", "it is not a regular file" },
	{ "", "No such file or directory" },
};

static void make_others(void)
{
	ctl_write_file("massif.empty", "", 0644);
	ctl_write_file("massif.sparse", "", 0644);
	ctl_write_file("massif.zeros", "desc: ", 0644);
	ctl_write_file("massif.binary", "desc: x\ncmd: y?z\n", 0644);
	if (truncate("massif.sparse", 1ll << 40) || truncate("massif.zeros", 1ll << 40) || mkfifo("massif.fifo", 0644) ||
	    mkdir("massif.directory", 0755))
		abort();
}

static void put_nul(void)
{
	int fd = open("massif.binary", O_WRONLY | O_CLOEXEC);

	if (pwrite(fd, "", 1, 14) != 1)
		abort();
	close(fd);
}

TEST_F_TIMEOUT(hostile, other_files_are_refused, 120)
{
	ASSERT_EQ(0, (record(&self->result, "massif.good"), ctl_exit_code(&self->result)));
	make_others();
	put_nul();
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
			const char *const *words = commands[k].words;

			EXPECT_EQ(commands[k].status, words[1] ? RUN("massif-ctl", words[0], words[1], others[i].path) :
								 RUN("massif-ctl", words[0], others[i].path));
			/* A massif.out file is refused by symbolize before it is read. */
			EXPECT_TRUE(strstr(self->result.err, others[i].says) ||
				    (strcmp(words[0], "symbolize") == 0 && strstr(self->result.err, "is a massif.out file"))) {
				TH_LOG("%s %s: it says %s", words[0], others[i].path, self->result.err);
			}
			EXPECT_STREQ("", self->result.out);
		}
	}
	rmdir("massif.directory");
}

/* Reads the @size bytes at @data as a file. */
static int read_bytes(const void *data, size_t size, struct mf_recording *recording, struct mf_error *err)
{
	int fd = memfd_create("recording", MFD_CLOEXEC), code = -EIO;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size)
		code = mf_recording_read(path, recording, err);
	close(fd);
	return code;
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re");
	struct stat status;
	uint8_t *data;

	if (!in || fstat(fileno(in), &status))
		abort();
	*size = (size_t)status.st_size;
	data = malloc(*size + 1);
	if (!data || fread(data, 1, *size, in) != *size)
		abort();
	fclose(in);
	return data;
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	FILE *out = fopen(path, "we");

	if (!out || fwrite(data, 1, size, out) != size || fclose(out))
		abort();
}

/* A recording, and a massif.out file, that end after each of their bytes. */
TEST_F_TIMEOUT(hostile, files_that_end_early, 120)
{
	static const char *const names[] = { "massif.good", "massif.out" };

	ASSERT_EQ(0, (record(&self->result, names[0]), ctl_exit_code(&self->result)));
	for (size_t i = 0; i < 2; i++) {
		size_t size, n_read = 0;
		uint8_t *data = read_file(names[i], &size);

		EXPECT_LT(500, size);
		for (size_t end = 0; end < size; end++) {
			struct mf_recording recording;
			struct mf_error err = { 0 };

			if (read_bytes(data, end, &recording, &err)) {
				EXPECT_NE(NULL, strstr(err.text, i && end > 5 ? "" : "it ")) {
					TH_LOG("%zu: %s", end, err.text);
				}
				EXPECT_LT(20, strlen(err.text));
			} else {
				n_read++;
				mf_recording_release(&recording);
			}
			if (end % 97)
				continue;
			write_file("massif.cut", data, end);
			EXPECT_GE(1, RUN("massif-ctl", "show", "massif.cut"));
			EXPECT_EQ(!err.text[0], !self->result.err[0]);
		}
		/* A text can end after each of its snapshots, a recording only after its process. */
		if (!i)
			EXPECT_EQ(0, n_read);
		free(data);
	}
}

/* A massif.out file that begins with @before, @n times x, and @after. */
static char *make_line(const char *before, size_t n, const char *after, size_t *size)
{
	size_t n_before = strlen(before), n_after = strlen(after);
	char *text = malloc(n_before + n + n_after + 1);

	if (!text)
		abort();
	memcpy(text, before, n_before);
	memset(text + n_before, 'x', n);
	memcpy(text + n_before + n, after, n_after + 1);
	*size = n_before + n + n_after;
	return text;
}

TEST(lines_of_massif_out_files)
{
	static const struct {
		size_t length;
		bool right;
	} lines[] = { { LINE_MOST, true }, { LINE_MOST + 1, false }, { 10 * LINE_MOST, false } };
	static const char *const rest[] = {
		"\ntime_unit: B\nsnapshot=0\ntime=1\nmem_heap_B=1\nmem_heap_extra_B=1\nmem_stacks_B=0\n"
		"heap_tree=peak\nn0: 1 root\n", "",
	};

	for (size_t i = 0; i < 2 * sizeof(lines) / sizeof(lines[0]); i++) {
		bool right = lines[i / 2].right && i % 2 == 0;
		size_t size;
		char *text = make_line("desc: x\ncmd: ", lines[i / 2].length - strlen("cmd: "), rest[i % 2], &size);
		struct mf_recording recording;
		struct mf_error err = { 0 };

		EXPECT_EQ(right ? 0 : -EBADMSG, read_bytes(text, size, &recording, &err)) {
			TH_LOG("%zu: %s", lines[i / 2].length, err.text);
		}
		if (!lines[i / 2].right)
			EXPECT_NE(NULL, strstr(err.text, "line 2: it has more than 16777216 bytes"));
		mf_recording_release(&recording);
		free(text);
	}
}

/* A massif.out file whose first snapshot has @n_stacks stacks, followed by as many snapshots of one stack each. */
static FILE *write_snapshots(size_t n_stacks, char **text, size_t *size)
{
	static const char head[] = "mem_heap_B=1\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=";
	FILE *out = open_memstream(text, size);

	fprintf(out, "desc: x\ncmd: y\ntime_unit: B\nsnapshot=0\ntime=0\n%speak\nn%zu: %zu root\n", head, n_stacks, n_stacks);
	for (size_t i = 0; i < n_stacks; i++)
		fprintf(out, " n0: 1 0x%zx: f (in l)\n", i);
	for (size_t i = 1; i <= n_stacks; i++)
		fprintf(out, "snapshot=%zu\ntime=%zu\n%sdetailed\nn1: 1 root\n n0: 1 0x1: f (in l)\n", i, i, head);
	return out;
}

/* Four times as many stacks and snapshots do not take 16 times as long. */
TEST(many_stacks_and_many_snapshots)
{
	static const size_t numbers[] = { 25000, 100000 };
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		struct mf_recording recording;
		struct mf_error err = { 0 };
		char *text = NULL;
		size_t size;

		fclose(write_snapshots(numbers[i], &text, &size));
		seconds[i] = now();
		ASSERT_EQ(0, read_bytes(text, size, &recording, &err)) {
			TH_LOG("%s", err.text);
		}
		seconds[i] = now() - seconds[i];
		EXPECT_EQ(numbers[i] + 1, recording.processes[0]->profile.n_snapshots);
		EXPECT_EQ(numbers[i], recording.processes[0]->profile.n_contexts);
		EXPECT_EQ(2 * numbers[i], recording.processes[0]->end->leaves - recording.processes[0]->leaves + 1);
		mf_recording_release(&recording);
		free(text);
	}
	TH_LOG("%.3f and %.3f s", seconds[0], seconds[1]);
	EXPECT_GT(2 + 8 * seconds[0], seconds[1]);
}

/* Returns a recording of a process without stacks, which has @n_objects objects. */
static struct mf_bytes make_objects(size_t n_objects)
{
	struct mf_bytes file = { 0 }, contents = { 0 };

	mf_section_add_magic(&file);
	for (enum mf_section_type type = MF_SECTION_PROCESS; type <= MF_SECTION_END; type++) {
		size_t n_zeros = type == MF_SECTION_OBJECTS ? 10 * n_objects : type == MF_SECTION_STACKS ? 3 : 0;

		/* The snapshot of the end. */
		contents.size = 0;
		if (type != MF_SECTION_STACKS && type != MF_SECTION_END)
			mf_bytes_add_unsigned(&contents, type == MF_SECTION_OBJECTS ? n_objects : type == MF_SECTION_SNAPSHOTS);
		for (size_t i = 0; i < 7 && type == MF_SECTION_SNAPSHOTS; i++)
			mf_bytes_add_unsigned(&contents, i == 4 ? MF_TREE_DETAILED : 0);
		for (size_t i = 0; i < n_zeros; i++)
			mf_bytes_add(&contents, "", 1);
		mf_section_add(&file, type, &contents);
	}
	mf_bytes_deinit(&contents);
	return file;
}

TEST(objects_of_a_process)
{
	static const size_t numbers[] = { 1, OBJECTS_MOST, OBJECTS_MOST + 1, 10 * OBJECTS_MOST };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_bytes file = make_objects(numbers[i]);
		struct mf_recording recording;
		struct mf_error err = { 0 };

		EXPECT_EQ(numbers[i] > OBJECTS_MOST ? -EBADMSG : 0, read_bytes(file.data, file.size, &recording, &err)) {
			TH_LOG("%zu: %s", numbers[i], err.text);
		}
		if (numbers[i] > OBJECTS_MOST)
			EXPECT_NE(NULL, strstr(err.text, "the objects of process 1 are invalid"));
		mf_recording_release(&recording);
		mf_bytes_deinit(&file);
	}
}

static void add_numbers(struct mf_bytes *file, enum mf_section_type type, size_t n, const uint8_t *numbers)
{
	const struct mf_bytes contents = { .data = (uint8_t *)numbers, .size = n };

	mf_section_add(file, type, &contents);
}

/* Returns a recording of one stack of @depth times the same frame, whose function's name has @n bytes. */
static struct mf_bytes make_name(size_t n, uint8_t depth)
{
	struct mf_bytes file = { 0 }, names = { 0 }, stacks = { 0 };
	char *name = calloc(1, n + 1);

	if (!name)
		abort();
	memset(name, 'x', n);
	mf_section_add_magic(&file);
	add_numbers(&file, MF_SECTION_PROCESS, 1, (const uint8_t[]){ 0 });
	add_numbers(&file, MF_SECTION_OBJECTS, 11, (const uint8_t[11]){ 1 });
	mf_bytes_add(&stacks, (const uint8_t[]){ 1, 0, 2, depth }, 4);
	for (uint8_t i = 0; i < depth; i++)
		mf_bytes_add(&stacks, (const uint8_t[]){ 1, 0 }, 2);
	mf_bytes_add(&stacks, (const uint8_t[]){ 1, 2 * depth }, 2);
	mf_section_add(&file, MF_SECTION_STACKS, &stacks);
	mf_bytes_deinit(&stacks);
	add_numbers(&file, MF_SECTION_SNAPSHOTS, 10, (const uint8_t[]){ 1, 0, 1, 0, 0, 1, 1, 1, 0, 2 });
	mf_bytes_add_unsigned(&names, 1);
	mf_bytes_add_text(&names, name);
	mf_bytes_add(&names, (const uint8_t[]){ 1, 0, 1, 0, 0, 0 }, 6);
	mf_section_add(&file, MF_SECTION_NAMES, &names);
	add_numbers(&file, MF_SECTION_END, 0, NULL);
	mf_bytes_deinit(&names);
	free(name);
	return file;
}

TEST(bytes_of_a_name)
{
	static const size_t lengths[] = { 1, NAME_MOST, NAME_MOST + 1, 10 * NAME_MOST };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t length = lengths[i] < NAME_MOST ? lengths[i] : NAME_MOST;
		struct mf_bytes file = make_name(lengths[i], 1);
		const struct mf_location *locations;
		const struct mf_recorded *process;
		struct mf_recording recording;
		struct mf_error err = { 0 };

		ASSERT_EQ(0, read_bytes(file.data, file.size, &recording, &err)) {
			TH_LOG("%s", err.text);
		}
		process = recording.processes[0];
		ASSERT_EQ(1, process->n_frames);
		EXPECT_EQ(1, mf_symbolizer_resolve(process->symbolizer, process->frames[0], &locations));
		EXPECT_EQ(length, strlen(locations[0].function));
		mf_recording_release(&recording);
		mf_bytes_deinit(&file);
	}
}

/* Four of the longest names are a label of the largest size. */
TEST_F(hostile, bytes_of_a_stack)
{
	static const uint8_t depths[] = { 4, 5, 40 };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct mf_bytes file = make_name(NAME_MOST, depths[i]);
		size_t size;

		write_file("massif.deep", file.data, file.size);
		mf_bytes_deinit(&file);
		ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=stack", "massif.deep"));
		size = strlen(self->result.out);
		EXPECT_LT(4 * NAME_MOST, size);
		EXPECT_GT(4 * NAME_MOST + 2000, size);
		EXPECT_EQ(depths[i] > 4, !!strstr(self->result.out, "x (in unknown) < ...\n"));
	}
}

/* A file that needs too much memory gets a message. */
TEST(memory_has_a_bound)
{
	char *words[] = { "massif.rec", NULL };
	struct rlimit limit, lower;
	struct mf_query query;

	ASSERT_EQ(0, mf_query_parse(&query, 1, words, 1, (const char *const[]){ NULL }, NULL));
	mf_query_release(&query);
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &limit));
	EXPECT_GE((rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE), limit.rlim_cur);
	limit.rlim_cur -= limit.rlim_cur / 4;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	mf_memory_limit();
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &lower));
	EXPECT_EQ(limit.rlim_cur, lower.rlim_cur);
}

static void have_little_memory(void)
{
	const struct rlimit limit = { LITTLE, LITTLE };

	if (setrlimit(RLIMIT_AS, &limit))
		abort();
}

TEST_F(hostile, more_than_there_is_memory)
{
	struct mf_bytes file = make_objects(OBJECTS_MOST);

	write_file("massif.objects", file.data, file.size);
	mf_bytes_deinit(&file);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *argv[] = { "massif-ctl", commands[i].words[0], commands[i].words[1] ?: "massif.objects",
				       commands[i].words[1] ? "massif.objects" : NULL, NULL };

		if (strcmp(commands[i].words[0], "diff") == 0)
			argv[2] = argv[3];
		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, have_little_memory, argv);
		EXPECT_EQ(commands[i].status, ctl_exit_code(&self->result));
		EXPECT_STREQ("massif-ctl: cannot read 'massif.objects': out of memory\n", self->result.err);
	}
}

/* Output that cannot be written is an error, in every format. */
static void to_full(void)
{
	if (!freopen("/dev/full", "w", stdout))
		abort();
}

static void to_closed_pipe(void)
{
	int pipes[2];

	if (pipe(pipes) || dup2(pipes[1], 1) < 0)
		abort();
	close(pipes[0]);
	close(pipes[1]);
	signal(SIGPIPE, SIG_IGN);
}

TEST_F_TIMEOUT(hostile, output_that_cannot_be_written, 120)
{
	static const struct {
		void (*before)(void);
		const char *says;
	} outputs[] = {
		{ to_full, "No space left on device" },
		{ to_closed_pipe, "Broken pipe" },
	};

	ASSERT_EQ(0, (record(&self->result, "massif.good"), ctl_exit_code(&self->result)));
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
			const char *argv[] = { "massif-ctl", commands[k].words[0], commands[k].words[1] ?: "massif.good",
					       commands[k].words[1] ? "massif.good" : NULL, NULL };

			ctl_result_free(&self->result);
			ctl_run(&self->result, NULL, outputs[i].before, argv);
			EXPECT_EQ(commands[k].status, ctl_exit_code(&self->result)) {
				TH_LOG("%zu: %s %s: %s", i, argv[1], argv[2], self->result.err);
			}
			EXPECT_NE(NULL, strstr(self->result.err, outputs[i].says)) {
				TH_LOG("%zu: %s %s: %s", i, argv[1], argv[2], self->result.err);
			}
			EXPECT_NE('\0', self->result.err[0]);
		}
	}
}

TEST_HARNESS_MAIN
