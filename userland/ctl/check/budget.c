// SPDX-License-Identifier: GPL-2.0
// Budgets: limits for what programs, or parts of them, allocate and hold.

#include "budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "ctl/options/number.h"

#define WORDS 6u /* words of the longest line */

#define BIT(band) (1u << MF_BAND_##band)
#define FREE	  (BIT(FREE_PARTS) | BIT(FREE_PAGES))
#define PROGRAM	  (((1u << MF_BANDS) - 1) & ~BIT(MASSIF)) /* without profiling, that is not there */

const struct mf_measure_kind mf_measure_kinds[MF_MEASURES] = {
	[MF_MEASURE_PEAK] = { "peak", MF_UNIT_BYTES },
	[MF_MEASURE_END] = { "end", MF_UNIT_BYTES },
	[MF_MEASURE_ALLOCATIONS] = { "allocations", MF_UNIT_COUNT, .counted = true },
	[MF_MEASURE_ALLOCATED] = { "allocated", MF_UNIT_BYTES, .counted = true },
	[MF_MEASURE_TEMPORARY] = { "temporary", MF_UNIT_COUNT_OR_PERCENT, .counted = true },
	[MF_MEASURE_LEAK_SITES] = { "leak-sites", MF_UNIT_COUNT },
	[MF_MEASURE_RSS] = { "rss", MF_UNIT_BYTES, .bands = PROGRAM },
	[MF_MEASURE_RSS_END] = { "rss-end", MF_UNIT_BYTES, .bands = PROGRAM, .last = true },
	[MF_MEASURE_FREE] = { "free", MF_UNIT_BYTES, .bands = FREE },
	[MF_MEASURE_FREE_END] = { "free-end", MF_UNIT_BYTES, .bands = FREE, .last = true },
	[MF_MEASURE_OVERHEAD] = { "overhead", MF_UNIT_BYTES, .bands = BIT(OVERHEAD) },
	[MF_MEASURE_OVERHEAD_END] = { "overhead-end", MF_UNIT_BYTES, .bands = BIT(OVERHEAD), .last = true },
	[MF_MEASURE_ANONYMOUS] = { "anonymous", MF_UNIT_BYTES, .bands = BIT(ANONYMOUS) },
	[MF_MEASURE_ANONYMOUS_END] = { "anonymous-end", MF_UNIT_BYTES, .bands = BIT(ANONYMOUS), .last = true },
	[MF_MEASURE_STACKS] = { "stacks", MF_UNIT_BYTES, .bands = BIT(STACKS) },
	[MF_MEASURE_STACKS_END] = { "stacks-end", MF_UNIT_BYTES, .bands = BIT(STACKS), .last = true },
	[MF_MEASURE_FILES] = { "files", MF_UNIT_BYTES, .bands = BIT(FILES) },
	[MF_MEASURE_FILES_END] = { "files-end", MF_UNIT_BYTES, .bands = BIT(FILES), .last = true },
	[MF_MEASURE_SHARED] = { "shared", MF_UNIT_BYTES, .bands = BIT(SHARED) },
	[MF_MEASURE_SHARED_END] = { "shared-end", MF_UNIT_BYTES, .bands = BIT(SHARED), .last = true },
	[MF_MEASURE_PINNED] = { "pinned", MF_UNIT_BYTES, .by_site = true, .number = MF_RESIDENT_PINNED },
	[MF_MEASURE_PINNED_END] = { "pinned-end", MF_UNIT_BYTES, .by_site = true, .number = MF_RESIDENT_PINNED, .last = true },
	[MF_MEASURE_UNTOUCHED] = { "untouched", MF_UNIT_BYTES, .by_site = true, .number = MF_RESIDENT_UNTOUCHED },
	[MF_MEASURE_UNTOUCHED_END] = { "untouched-end", MF_UNIT_BYTES, .by_site = true, .number = MF_RESIDENT_UNTOUCHED,
				       .last = true },
	[MF_MEASURE_FIRST_TOUCHED] = { "first-touched", MF_UNIT_BYTES, .touches = true },
	[MF_MEASURE_FIRST_TOUCHED_END] = { "first-touched-end", MF_UNIT_BYTES, .touches = true, .last = true },
};

static const char *const part_names[MF_PARTS] = {
	[MF_PART_FUNCTION] = "function",
	[MF_PART_FILE] = "file",
	[MF_PART_LIBRARY] = "library",
};

static bool parse_count(const char *text, double *limit)
{
	int64_t number;

	if (*text < '0' || *text > '9' || !mf_number_parse_integer(text, &number))
		return false;
	*limit = (double)number;
	return true;
}

static bool parse_bytes(const char *text, double *limit)
{
	uint64_t bytes;

	if (!mf_number_parse_size(text, &bytes))
		return false;
	*limit = (double)bytes;
	return true;
}

static bool parse_percent(const char *text, double *limit)
{
	size_t length = strlen(text);
	mf_auto_free char *number = length > 1 && text[length - 1] == '%' ? strndup(text, length - 1) : NULL;

	return number && *number >= '0' && *number <= '9' && mf_number_parse_decimal(number, limit);
}

static int parse_limit(struct mf_budget *budget, const char *text, struct mf_error *err)
{
	static const char *const needs[] = {
		[MF_UNIT_BYTES] = "a size, such as 100, 64K or 1M",
		[MF_UNIT_COUNT] = "a whole number",
		[MF_UNIT_COUNT_OR_PERCENT] = "a whole number, or a percentage such as 10%",
	};
	const struct mf_measure_kind *kind = &mf_measure_kinds[budget->measure];

	budget->percent = kind->unit == MF_UNIT_COUNT_OR_PERCENT && parse_percent(text, &budget->limit);
	if (budget->percent || (kind->unit == MF_UNIT_BYTES ? parse_bytes : parse_count)(text, &budget->limit))
		return 0;
	return mf_error_set(err, -EINVAL, "'%.200s' is not a limit for %s; it needs %s", text, kind->name,
			    needs[kind->unit]);
}

static void release(struct mf_budget *budget)
{
	free(budget->text);
	free(budget->program);
	free(budget->pattern);
}

/* Adds @budget, which is owned by the list then. */
static int append(struct mf_budgets *budgets, struct mf_budget *budget, struct mf_error *err)
{
	if (budgets->count == budgets->room) {
		size_t room = budgets->room ? budgets->room * 2 : 16;
		struct mf_budget *list = reallocarray(budgets->list, room, sizeof(*list));

		if (!list)
			return mf_error_set(err, -ENOMEM, "out of memory");
		budgets->list = list;
		budgets->room = room;
	}
	budgets->list[budgets->count++] = mf_take(*budget, (struct mf_budget){ 0 });
	return 0;
}

int mf_budgets_add(struct mf_budgets *budgets, enum mf_measure measure, const char *limit, struct mf_error *err)
{
	__attribute__((cleanup(release))) struct mf_budget budget = { .measure = measure };
	int code = parse_limit(&budget, limit, err);

	if (code)
		return code;
	if (asprintf(&budget.text, "%s %s", mf_measure_kinds[measure].name, limit) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	return append(budgets, &budget, err);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/*
 * Splits @line into words, in place. Returns how many they are, or -EINVAL. A word can be quoted in order to contain
 * blanks, or to be a pattern with a # in front.
 */
static int split(char *line, char *words[static WORDS], struct mf_error *err)
{
	int n = 0;

	for (char *at = line;;) {
		char *end;

		while (is_blank(*at))
			at++;
		if (!*at || *at == '#')
			return n;
		if (n == WORDS)
			return mf_error_set(err, -EINVAL, "there is something after the limit: '%.200s'", at);
		if (*at == '"') {
			end = strchr(++at, '"');
			if (!end)
				return mf_error_set(err, -EINVAL, "the quotation mark before '%.200s' has no other", at);
		} else {
			for (end = at; *end && !is_blank(*end);)
				end++;
		}
		words[n++] = at;
		at = *end ? end + 1 : end;
		*end = '\0';
	}
}

/* Returns the text of a budget: its words, those with blanks quoted. */
static char *join(char *const *words, int n)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; i < n; i++)
		fprintf(out, strpbrk(words[i], " \t") ? "%s\"%s\"" : "%s%s", i ? " " : "", words[i]);
	if (fclose(out))
		return NULL;
	mf_printable_clean(text);
	return mf_take(text, NULL);
}

/* Takes "NAME PATTERN" from the front of the words. Returns 0, or -EINVAL if the pattern is missing. */
static int take_pattern(char *const **words, int *n, char **pattern, struct mf_error *err)
{
	if (*n < 2 || !*(*words)[1])
		return mf_error_set(err, -EINVAL, "'%.200s' needs a pattern after it", (*words)[0]);
	*pattern = strdup((*words)[1]);
	if (!*pattern)
		return mf_error_set(err, -ENOMEM, "out of memory");
	*words += 2;
	*n -= 2;
	return 0;
}

static int take_part(struct mf_budget *budget, char *const **words, int *n, struct mf_error *err)
{
	for (enum mf_budget_part part = MF_PART_FUNCTION; *n && part < MF_PARTS; part++) {
		if (strcmp((*words)[0], part_names[part]) != 0)
			continue;
		budget->part = part;
		return take_pattern(words, n, &budget->pattern, err);
	}
	return 0;
}

static int take_measure(struct mf_budget *budget, char *const *words, int n, struct mf_error *err)
{
	static const char choice[] = "peak, end, allocations, allocated, temporary or leak-sites; or, if the resident set was "
				     "sampled, rss, free, overhead, anonymous, stacks, files, shared, pinned, untouched "
				     "or first-touched, or one of these with -end";

	if (!n)
		return mf_error_set(err, -EINVAL, "there is no measure; use %s", choice);
	while (budget->measure < MF_MEASURES && strcmp(words[0], mf_measure_kinds[budget->measure].name) != 0)
		budget->measure++;
	if (budget->measure == MF_MEASURES)
		return mf_error_set(err, -EINVAL, "'%.200s' is not a measure; use %s", words[0], choice);
	if (n == 1)
		return mf_error_set(err, -EINVAL, "%s has no limit", words[0]);
	if (mf_measure_kinds[budget->measure].bands && budget->part != MF_PART_ALL)
		return mf_error_set(err, -EINVAL, "%s is known only of a process as a whole; a %s can have pinned, untouched "
						  "or first-touched",
				    words[0], part_names[budget->part]);
	if (n > 2)
		return mf_error_set(err, -EINVAL, "there is something after the limit: '%.200s'", words[2]);
	return parse_limit(budget, words[1], err);
}

static int parse_line(struct mf_budgets *budgets, char *line, struct mf_error *err)
{
	__attribute__((cleanup(release))) struct mf_budget budget = { 0 };
	char *list[WORDS], *const *words = list;
	int n = split(line, list, err), n_all = n, code = 0;

	if (n <= 0)
		return n;
	if (strcmp(words[0], "program") == 0)
		code = take_pattern(&words, &n, &budget.program, err);
	if (!code)
		code = take_part(&budget, &words, &n, err);
	if (!code)
		code = take_measure(&budget, words, n, err);
	if (code)
		return code;
	budget.text = join(list, n_all);
	if (!budget.text)
		return mf_error_set(err, -ENOMEM, "out of memory");
	return append(budgets, &budget, err);
}

int mf_budgets_read(struct mf_budgets *budgets, const char *path, struct mf_error *err)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	mf_auto_free char *line = NULL;
	struct mf_error reason;
	size_t room = 0;
	ssize_t size;

	if (!file)
		return mf_error_set(err, -errno, "cannot read the budgets '%.600s': %s", path, strerror(errno));
	for (unsigned int number = 1; (size = getline(&line, &room, file)) >= 0; number++) {
		int code = 0;

		if (strlen(line) != (size_t)size)
			code = mf_error_set(&reason, -EINVAL, "the line contains a NUL byte");
		else
			code = parse_line(budgets, line, &reason);
		if (code)
			return mf_error_set(err, code, "%.500s:%u: %.400s", path, number, reason.text);
	}
	if (ferror(file))
		return mf_error_set(err, -errno, "cannot read the budgets '%.600s': %s", path, strerror(errno));
	return 0;
}

void mf_budgets_deinit(struct mf_budgets *budgets)
{
	for (size_t i = 0; i < budgets->count; i++)
		release(&budgets->list[i]);
	free(budgets->list);
	*budgets = (struct mf_budgets){ 0 };
}
