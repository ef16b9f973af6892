// SPDX-License-Identifier: GPL-2.0
/*
 * Damaged massif.out files: our ms_print must print the same output as Valgrind's ms_print, the reference, and reject
 * the same files. In addition, it rejects files with malformed numbers or with times out of order.
 *
 * MASSIF_FUZZ_N is the number of files (default 2000), MASSIF_FUZZ_SEED the first seed. Any file on which the two
 * differ is kept in the current directory.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/msprint_oracle.h"
#include "selftests/lib/msprint_writer.h"

#define FILES 2000

struct bytes {
	char *data;
	size_t len;
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

/* Replaces the @old_len bytes at offset @at of the file with the @len bytes at @with. */
static void splice(struct bytes *file, size_t at, size_t old_len, const char *with, size_t len)
{
	char *data = malloc(file->len - old_len + len + 1);

	if (!data)
		abort();
	memcpy(data, file->data, at);
	memcpy(data + at, with, len);
	memcpy(data + at + len, file->data + at + old_len, file->len - at - old_len);
	free(file->data);
	file->data = data;
	file->len += len - old_len;
	data[file->len] = '\0';
}

/* Returns the start of the line that contains offset @at; line_end() returns its end, including the newline. */
static size_t line_start(const struct bytes *file, size_t at)
{
	while (at && file->data[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct bytes *file, size_t at)
{
	while (at < file->len && file->data[at] != '\n')
		at++;
	return at < file->len ? at + 1 : at;
}

static size_t anywhere(const struct bytes *file, uint64_t *state)
{
	return msprint_random_below(state, file->len);
}

static void change_byte(struct bytes *file, uint64_t *state)
{
	static const char interesting[] = "0123456789n: \n#=\t\r%,-+x.e\0\v\f\377";

	file->data[anywhere(file, state)] =
		interesting[msprint_random_below(state, sizeof(interesting) - 1)];
}

static void insert_byte(struct bytes *file, uint64_t *state)
{
	char byte = msprint_random(state);

	splice(file, anywhere(file, state), 0, &byte, 1);
}

static void delete_byte(struct bytes *file, uint64_t *state)
{
	splice(file, anywhere(file, state), 1, "", 0);
}

static void truncate_file(struct bytes *file, uint64_t *state)
{
	size_t at = anywhere(file, state);

	splice(file, at, file->len - at, "", 0);
}

static void truncate_last_byte(struct bytes *file, uint64_t *state)
{
	splice(file, file->len - 1, 1, "", 0);
}

static void delete_line(struct bytes *file, uint64_t *state)
{
	size_t at = anywhere(file, state);
	size_t start = line_start(file, at);

	splice(file, start, line_end(file, at) - start, "", 0);
}

static void copy_line(struct bytes *file, uint64_t *state)
{
	size_t from = anywhere(file, state);
	size_t start = line_start(file, from);
	size_t len = line_end(file, from) - start;
	char *line = strndup(file->data + start, len);

	if (line)
		splice(file, line_start(file, anywhere(file, state)), 0, line, strlen(line));
	free(line);
}

/*
 * Numbers near the values at which the Perl code of Valgrind's ms_print changes from integers to floating point,
 * rounds, or prints in another notation. Some of the numbers are malformed.
 */
static const char *const numbers[] = {
	"0", "1", "9", "10", "999", "1000", "1023", "1024", "99999", "1000000",
	"4503599627370497", "9007199254740991", "9007199254740993", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "18446744073709551616",
	"184467440737095517", "123456789012345678901234567890", "1e3", "1.5", "1e30", "-1", "-0",
	"+7", " 5", "5 ", "5x", "", "0x10", "5.0", "1e17",
	 "00012345", ".5", "5.", "1e", "-9223372036854775808",
	"-9223372036854775809", "1,000", "1_000",
};

static void change_number(struct bytes *file, uint64_t *state)
{
	size_t at = anywhere(file, state);
	char random[24];
	const char *with;
	size_t len;

	at += strcspn(file->data + at, "0123456789");
	len = strspn(file->data + at, "0123456789");
	while (at && file->data[at - 1] >= '0' && file->data[at - 1] <= '9') {
		at--;
		len++;
	}
	if (!len)
		return;
	snprintf(random, sizeof(random), "%" PRIu64,
		 msprint_random(state) >> msprint_random_below(state, 64));
	with = msprint_random_below(state, 2) ? random :
	       numbers[msprint_random_below(state, sizeof(numbers) / sizeof(numbers[0]))];
	splice(file, at, len, with, strlen(with));
}

/* Mutations that should be chosen often are listed more than once. */
static void (*const mutations[])(struct bytes *file, uint64_t *state) = {
	change_byte, change_byte, insert_byte, delete_byte, truncate_file, truncate_last_byte,
	delete_line, copy_line, change_number, change_number, change_number, change_number,
};

/* Returns the number at @at, or -1 if ms_print does not accept it. */
static double number_at(const char *at, const char *end)
{
	size_t digits = strspn(at, "0123456789");
	size_t blanks = strspn(at + digits, " \t\v\f\r");
	const char *behind = at + digits + blanks;
	uint64_t value;

	errno = 0;
	value = strtoull(at, NULL, 10);
	if (!digits || errno || (behind < end && *behind != '\n' && *behind != '#'))
		return -1;
	return (double)value;
}

/* Returns whether any line has a malformed number, or a time later than that of the last snapshot. */
static bool is_implausible(const struct bytes *file)
{
	static const char *const fields[] = { "time=", "snapshot=", "mem_heap_B=", "mem_heap_extra_B=",
					      "mem_stacks_B=" };
	const char *at = file->data;
	const char *end = at + file->len;
	double largest = 0, last = 0, value;

	for (; at && at < end; at = memchr(at, '\n', end - at), at += !!at) {
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			size_t length = strlen(fields[i]);

			if ((size_t)(end - at) < length || memcmp(at, fields[i], length))
				continue;
			value = number_at(at + length, end);
			if (value < 0)
				return true;
			if (i)
				continue;
			last = value;
			largest = value > largest ? value : largest;
		}
	}
	return largest > last;
}

static struct bytes make_file(uint64_t *state)
{
	struct bytes file = {};
	FILE *stream = open_memstream(&file.data, &file.len);
	unsigned int count = msprint_random_below(state, 4);

	if (!stream)
		abort();
	msprint_write_random(stream, state);
	fclose(stream);
	while (count-- && file.len)
		mutations[msprint_random_below(state, sizeof(mutations) / sizeof(mutations[0]))](
			&file, state);
	return file;
}

static bool save(const char *path, const struct bytes *file)
{
	FILE *stream = fopen(path, "w");
	bool good = stream && fwrite(file->data, 1, file->len, stream) == file->len;

	if (stream && fclose(stream))
		good = false;
	return good;
}

/*
 * Runs only our ms_print, which must print an error message and nothing else. Valgrind's ms_print might spend a long
 * time drawing nonsense.
 */
static bool is_refused(const char *const *args, unsigned int *refused)
{
	MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);

	++*refused;
	return ours.status > 0 && ours.status < 1000 && !ours.out_len && ours.err_len;
}

static const char *const option_sets[][3] = {
	{}, {}, { "--threshold=0" }, { "--threshold=7.5%" }, { "--x=100", "--y=50" },
	{ "--x=4", "--y=4", "--threshold=.01" },
};

/*
 * This fixture is empty. It exists only because a time limit can be set for a test with a fixture, but not for a plain
 * TEST().
 */
FIXTURE(fuzz) {
};

FIXTURE_SETUP(fuzz)
{
}

FIXTURE_TEARDOWN(fuzz)
{
}

TEST_F_TIMEOUT(fuzz, damaged_files, 7200)
{
	uint64_t seed = setting("MASSIF_FUZZ_SEED", 20220412);
	uint64_t files = setting("MASSIF_FUZZ_N", FILES);
	const char *missing = msprint_missing();
	unsigned int compared = 0;
	unsigned int refused = 0;
	unsigned int printed = 0;
	const char *args[5];
	struct bytes file;
	uint64_t state;
	char path[64];
	size_t used;
	bool same;
	int status = 0;
	uint64_t i;

	if (missing)
		SKIP(return, "%s", missing);
	for (i = 0; compared < files; i++) {
		state = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		file = make_file(&state);
		memset(args, 0, sizeof(args));
		memcpy(args, option_sets[msprint_random_below(&state, 6)], sizeof(option_sets[0]));
		for (used = 0; args[used]; used++)
			;
		snprintf(path, sizeof(path), "fuzz-%" PRIu64 ".out", seed + i);
		args[used] = path;
		ASSERT_TRUE(save(path, &file));
		status = 1;
		same = is_implausible(&file) ? is_refused(args, &refused) : msprint_same(args, &status);
		EXPECT_TRUE(same) {
			TH_LOG("seed %" PRIu64 ": %s %s %s", seed + i, args[0], args[1] ?: "",
			       args[2] ?: "");
		}
		if (same)
			unlink(path);
		compared++;
		printed += !status;
		free(file.data);
	}
	printf("# %u files: %u printed, %u refused, %u of them by ours alone\n", compared, printed,
	       compared - printed, refused);
	fflush(stdout);
	/* The test is meaningful only if enough files were printed and enough were refused. */
	EXPECT_GE(printed, compared / 4);
	EXPECT_LE(printed, compared - compared / 8);
}

TEST_HARNESS_MAIN
