// SPDX-License-Identifier: GPL-2.0
// Fuzzes the readers of budgets and of suppressions, of which the latter can come from the profiled program, and the numbers
// in budgets and options.
//
// The first byte of an input says what the rest is: a file of budgets, suppressions, or a number.

#include "selftests/fuzz/fuzz.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/pattern.h"
#include "ctl/check/budget.h"
#include "ctl/check/suppressions.h"
#include "ctl/options/number.h"
#include "ctl/query/temporary.h"

/* The stacks that suppressions are compared with. */
static const struct mf_location locations[] = {
	{ .function = "main", .directory = "/src", .file = "p.c", .line = 3, .object = "/p" },
	{ .function = "f(int)", .file = "p.c", .line = 44, .object = "/p" },
	{ .object = "/lib/libc.so.6" },
	{ .note = "[heap]" },
};

#define CALL(number) { { 0x1000 + (number), 1 }, &locations[number] }

static const struct mf_call calls[] = { CALL(2), CALL(1), CALL(1), CALL(0), CALL(3) };

static const struct mf_moment_stack stacks[] = {
	{ .calls = calls, .n = 0 },
	{ .calls = calls, .n = 4 },
	{ .calls = calls + 1, .n = 3 },
	{ .calls = calls + 4, .n = 1 },
};

#define STACKS (sizeof(stacks) / sizeof(stacks[0]))

/* Files are read by their names. */
struct named_file {
	int fd;
	char path[64];
};

static struct named_file named_file(const void *bytes, size_t size)
{
	struct named_file file = { .fd = fuzz_file(bytes, size) };

	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

static void check_budget(const struct mf_budget *budget)
{
	const struct mf_measure_kind *kind = &mf_measure_kinds[budget->measure];

	fuzz_require(budget->measure < MF_MEASURES && budget->part < MF_PARTS);
	fuzz_require(!budget->pattern == (budget->part == MF_PART_ALL) && (!kind->bands || !budget->pattern));
	fuzz_require(budget->limit >= 0 && (!budget->percent || kind->unit == MF_UNIT_COUNT_OR_PERCENT));
	for (const char *at = budget->text; *at; at++)
		fuzz_require((unsigned char)*at >= ' ' && *at != 0x7f);
	mf_pattern_matches_text(budget->program ?: "*", "p");
	mf_pattern_matches_text(budget->pattern ?: "*", "f(int)");
}

static void read_budgets(const void *bytes, size_t size)
{
	struct named_file file = named_file(bytes, size);
	struct mf_budgets budgets = { 0 };
	struct mf_error err = { 0 };

	fuzz_require(!mf_budgets_read(&budgets, file.path, &err) == !err.text[0]);
	/* Those before the line that was refused are there, too. */
	for (size_t i = 0; i < budgets.count; i++)
		check_budget(&budgets.list[i]);
	mf_budgets_deinit(&budgets);
	close(file.fd);
}

/* Suppressions are the same from a file as from a text. */
static void read_suppressions(const char *text, size_t size)
{
	struct named_file file = named_file(text, size);
	struct mf_suppressions of_file = { 0 }, of_text = { 0 };
	struct mf_error err = { 0 }, err_text = { 0 };
	int code = mf_suppressions_read(&of_file, file.path, &err);

	fuzz_require(!code == !err.text[0]);
	fuzz_require(mf_suppressions_read_text(&of_text, text, "text", &err_text) == code && !code == !err_text.text[0]);
	fuzz_require(of_file.count == of_text.count);
	for (size_t i = 0; i < STACKS; i++) {
		bool matches = mf_suppressions_match(&of_file, &stacks[i]);

		fuzz_require(matches == mf_suppressions_match(&of_text, &stacks[i]) && (!matches || of_file.count));
	}
	mf_suppressions_deinit(&of_file);
	mf_suppressions_deinit(&of_text);
	close(file.fd);
}

/* Returns whether @text consists of digits that are no larger number than @most. */
static bool is_number(const char *text, uint64_t most)
{
	uint64_t number = 0;

	for (const char *at = text; *at; at++) {
		if (!isdigit((unsigned char)*at) || number > (most - (uint64_t)(*at - '0')) / 10)
			return false;
		number = 10 * number + (uint64_t)(*at - '0');
	}
	return *text;
}

static void read_number(const char *text)
{
	bool is_plain = isdigit((unsigned char)*text);
	struct mf_query query = { 0 };
	struct mf_error err = { 0 };
	uint64_t bytes;
	int64_t number;
	double decimal;

	fuzz_require(!is_plain || strspn(text, "0123456789") != strlen(text) ||
		     mf_number_parse_integer(text, &number) == is_number(text, INT64_MAX));
	fuzz_require(!is_number(text, INT64_MAX) || (mf_number_parse_size(text, &bytes) && bytes == strtoull(text, NULL, 10)));
	mf_number_parse_size(text, &bytes);
	/* Neither infinite nor "not a number". */
	if (mf_number_parse_decimal(text, &decimal))
		fuzz_require(decimal - decimal == 0);
	if (!mf_temporary_parse(text, &query, &err))
		fuzz_require(mf_number_parse_integer(text, &number) && mf_details_others(query.temporary) == (uint64_t)number);
	else
		fuzz_require(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t kind = fuzz_u8(&input);
	char *text = strndup((const char *)input.at, input.left);

	if (!text)
		abort();
	switch (kind % 3) {
	case 0:
		read_budgets(input.at, input.left);
		break;
	case 1:
		read_suppressions(text, strlen(text));
		break;
	default:
		read_number(text);
	}
	free(text);
	return 0;
}
