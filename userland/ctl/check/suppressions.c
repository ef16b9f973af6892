// SPDX-License-Identifier: GPL-2.0
// Suppressions: stacks whose blocks, although held at the end, are no leaks to report.

#include "suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "symbols/demangle.h"

/* The property of a call that a pattern is compared with. */
enum kind {
	KIND_ANY,      /* the function, the file or the object of any call of the stack: LeakSanitizer's leak: */
	KIND_FUNCTION, /* Valgrind's fun: */
	KIND_OBJECT,   /* obj: */
	KIND_SOURCE,   /* src:, file or file:line */
	KIND_DOTS,     /* ...: any number of calls */
};

struct rule {
	enum kind kind;
	char *pattern;
};

struct mf_suppression {
	struct rule *rules; /* one rule of KIND_ANY; or a rule for each of the innermost calls */
	size_t count;
};

static bool matches_source(const char *pattern, const struct mf_location *location)
{
	char line[16];
	mf_auto_free char *text = NULL;

	if (!location->file)
		return false;
	if (mf_pattern_matches_text(pattern, location->file))
		return true;
	snprintf(line, sizeof(line), "%u", location->line);
	return asprintf(&text, "%s:%s", location->file, line) >= 0 && mf_pattern_matches_text(pattern, text);
}

static bool matches_call(const struct rule *rule, const struct mf_call *call)
{
	const struct mf_location *location = call->location;

	switch (rule->kind) {
	case KIND_ANY:
		return mf_pattern_matches_text(rule->pattern, location->function) ||
		       mf_pattern_matches_text(rule->pattern, location->file) ||
		       mf_pattern_matches_text(rule->pattern, location->object);
	case KIND_FUNCTION:
		/* In Valgrind's files, * is also the name of a function that is not known. */
		return mf_pattern_matches_text(rule->pattern, location->function ?: "");
	case KIND_OBJECT:
		return mf_pattern_matches_text(rule->pattern, location->object ?: "");
	case KIND_SOURCE:
		return matches_source(rule->pattern, location);
	case KIND_DOTS:
		break;
	}
	return false;
}

/*
 * Compares the rules with the calls, the innermost first. The stack may have further calls. A "..." takes as few calls as
 * it can; if what follows does not match, it takes one more.
 */
static bool matches_calls(const struct rule *rules, size_t n_rules, const struct mf_call *calls, size_t n_calls)
{
	size_t rule = 0, call = 0, dots = SIZE_MAX, retry = 0;

	while (rule < n_rules) {
		if (rules[rule].kind == KIND_DOTS) {
			dots = ++rule;
			retry = call;
		} else if (call < n_calls && matches_call(&rules[rule], &calls[call])) {
			rule++;
			call++;
		} else if (dots != SIZE_MAX && retry < n_calls) {
			rule = dots;
			call = ++retry;
		} else {
			return false;
		}
	}
	return true;
}

/*
 * Valgrind's stacks begin with the allocation function, which ours do not have. So the first rule of a block may be for
 * such a function. Its name is demangled, unless the rule is a pattern.
 */
static bool is_for_allocator(const struct rule *rule)
{
	static const char *const allocators[] = {
		"malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign", "aligned_alloc", "valloc",
		"pvalloc", "_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
		"_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
		"operator new(unsigned long)", "operator new(unsigned long, std::nothrow_t const&)",
		"operator new(unsigned long, std::align_val_t)",
		"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
		"operator new[](unsigned long)", "operator new[](unsigned long, std::nothrow_t const&)",
		"operator new[](unsigned long, std::align_val_t)",
		"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
	};

	for (size_t i = 0; rule->kind == KIND_FUNCTION && i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (mf_pattern_matches_text(rule->pattern, allocators[i]))
			return true;
	return false;
}

static bool matches_stack(const struct mf_suppression *suppression, const struct mf_moment_stack *stack)
{
	const struct rule *rules = suppression->rules;
	size_t n = suppression->count, first = 0;

	if (rules->kind == KIND_ANY) {
		for (size_t i = 0; i < stack->n; i++)
			if (matches_call(rules, &stack->calls[i]))
				return true;
		return false;
	}
	/* No call is in front of the allocation function, for which a "..." could stand. */
	while (first < n - 1 && rules[first].kind == KIND_DOTS)
		first++;
	return matches_calls(rules, n, stack->calls, stack->n) ||
	       (is_for_allocator(&rules[first]) && matches_calls(&rules[first + 1], n - first - 1, stack->calls, stack->n));
}

bool mf_suppressions_match(const struct mf_suppressions *suppressions, const struct mf_moment_stack *stack)
{
	for (size_t i = 0; i < suppressions->count; i++)
		if (matches_stack(&suppressions->list[i], stack))
			return true;
	return false;
}

static void release(struct mf_suppression *suppression)
{
	for (size_t i = 0; i < suppression->count; i++)
		free(suppression->rules[i].pattern);
	free(suppression->rules);
	*suppression = (struct mf_suppression){ 0 };
}

/* Adds a rule, which owns @pattern. */
static int add_rule(struct mf_suppression *suppression, enum kind kind, char *pattern, struct mf_error *err)
{
	struct rule *rules = pattern ? reallocarray(suppression->rules, suppression->count + 1, sizeof(*rules)) : NULL;

	if (!rules) {
		free(pattern);
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	suppression->rules = rules;
	rules[suppression->count++] = (struct rule){ kind, pattern };
	return 0;
}

/* Adds @suppression, which is owned by the list then. */
static int append(struct mf_suppressions *suppressions, struct mf_suppression *suppression, struct mf_error *err)
{
	if (suppressions->count == suppressions->room) {
		size_t room = suppressions->room ? suppressions->room * 2 : 16;
		struct mf_suppression *list = reallocarray(suppressions->list, room, sizeof(*list));

		if (!list)
			return mf_error_set(err, -ENOMEM, "out of memory");
		suppressions->list = list;
		suppressions->room = room;
	}
	suppressions->list[suppressions->count++] = mf_take(*suppression, (struct mf_suppression){ 0 });
	return 0;
}

/* A file that is being read. */
struct reader {
	struct mf_suppressions *suppressions;
	FILE *file;
	char *line; /* without blanks at its start and end */
	char *buffer;
	size_t room;
	unsigned int number; /* of the line, from 1 */
};

/* Reads the next line that is not empty and no comment. Returns false at the end of the file. */
static bool next_line(struct reader *reader)
{
	ssize_t size;

	while ((size = getline(&reader->buffer, &reader->room, reader->file)) >= 0) {
		char *end = reader->buffer + strlen(reader->buffer);

		reader->number++;
		while (end > reader->buffer && strchr(" \t\r\n", end[-1]))
			*--end = '\0';
		reader->line = reader->buffer + strspn(reader->buffer, " \t");
		if (*reader->line && *reader->line != '#')
			return true;
	}
	return false;
}

/* Makes a pattern of @text that matches anywhere in a name; ^ and $ tie it to the start and the end. */
static char *floating(const char *text)
{
	bool front = *text == '^', back;
	size_t length;
	char *pattern;

	text += front;
	length = strlen(text);
	back = length && text[length - 1] == '$';
	if (asprintf(&pattern, "%s%.*s%s", front ? "" : "*", (int)(length - back), text, back ? "" : "*") < 0)
		return NULL;
	return pattern;
}

static int add_leak(struct mf_suppressions *suppressions, const char *text, struct mf_error *err)
{
	__attribute__((cleanup(release))) struct mf_suppression suppression = { 0 };

	if (!*text)
		return mf_error_set(err, -EINVAL, "leak: needs a pattern");
	return add_rule(&suppression, KIND_ANY, floating(text), err) ?: append(suppressions, &suppression, err);
}

/* Our names are demangled, Valgrind's suppressions have them as they are in the file. */
static char *demangled(const char *text)
{
	char *name = strpbrk(text, "*?") ? NULL : mf_demangle(text);

	return name ?: strdup(text);
}

/* Reads a line with a call of a block. */
static int add_call(struct mf_suppression *suppression, const char *line, struct mf_error *err)
{
	if (strcmp(line, "...") == 0)
		return add_rule(suppression, KIND_DOTS, strdup(""), err);
	if (strncmp(line, "fun:", 4) == 0)
		return add_rule(suppression, KIND_FUNCTION, demangled(line + 4), err);
	if (strncmp(line, "obj:", 4) == 0)
		return add_rule(suppression, KIND_OBJECT, strdup(line + 4), err);
	if (strncmp(line, "src:", 4) == 0)
		return add_rule(suppression, KIND_SOURCE, strdup(line + 4), err);
	return mf_error_set(err, -EINVAL, "'%.200s' is not a call; use fun:, obj:, src: or ...", line);
}

/* Returns whether "Tool,Tool:Kind" is for leaks that Memcheck finds. */
static bool is_of_leaks(const char *line)
{
	const char *colon = strchr(line, ':'), *tool = strstr(line, "Memcheck");

	return colon && tool && tool < colon && strcmp(colon + 1, "Leak") == 0;
}

static int read_block(struct reader *reader, struct mf_error *err)
{
	static const char unfinished[] = "the block has no } at its end";
	__attribute__((cleanup(release))) struct mf_suppression suppression = { 0 };
	bool wanted, is_closed = false;
	int code = 0;

	/* The block's name, then its kind. */
	if (!next_line(reader) || !next_line(reader))
		return mf_error_set(err, -EINVAL, unfinished);
	if (!strchr(reader->line, ':'))
		return mf_error_set(err, -EINVAL, "'%.200s' is not a kind such as Memcheck:Leak", reader->line);
	wanted = is_of_leaks(reader->line);
	while (!code && !is_closed && next_line(reader)) {
		is_closed = strcmp(reader->line, "}") == 0;
		/* A block of another kind may have lines of its own. */
		if (!is_closed && wanted && strncmp(reader->line, "match-leak-kinds:", 17) != 0)
			code = add_call(&suppression, reader->line, err);
	}
	if (code)
		return code;
	if (!is_closed)
		return mf_error_set(err, -EINVAL, unfinished);
	if (!wanted)
		return 0;
	if (!suppression.count)
		return mf_error_set(err, -EINVAL, "the block has no calls");
	return append(reader->suppressions, &suppression, err);
}

static int read_lines(struct reader *reader, struct mf_error *err)
{
	int code = 0;

	while (!code && next_line(reader)) {
		if (strncmp(reader->line, "leak:", 5) == 0)
			code = add_leak(reader->suppressions, reader->line + 5, err);
		else if (strcmp(reader->line, "{") == 0)
			code = read_block(reader, err);
		else
			code = mf_error_set(err, -EINVAL, "'%.200s' is no suppression; use leak:PATTERN or a block of "
							  "Valgrind in { }", reader->line);
	}
	return code;
}

static int read_file(struct mf_suppressions *suppressions, FILE *file, const char *name, struct mf_error *err)
{
	struct reader reader = { .suppressions = suppressions, .file = file };
	struct mf_error reason;
	int code = read_lines(&reader, &reason);

	free(reader.buffer);
	if (code)
		return mf_error_set(err, code, "%.500s:%u: %.400s", name, reader.number, reason.text);
	if (ferror(file))
		return mf_error_set(err, -errno, "cannot read the suppressions '%.600s': %s", name, strerror(errno));
	return 0;
}

int mf_suppressions_read(struct mf_suppressions *suppressions, const char *path, struct mf_error *err)
{
	mf_auto_fclose FILE *file = fopen(path, "re");

	if (!file)
		return mf_error_set(err, -errno, "cannot read the suppressions '%.600s': %s", path, strerror(errno));
	return read_file(suppressions, file, path, err);
}

int mf_suppressions_read_text(struct mf_suppressions *suppressions, const char *text, const char *name,
			      struct mf_error *err)
{
	size_t size = strlen(text);
	mf_auto_fclose FILE *file = NULL;

	if (!size)
		return 0;
	file = fmemopen((char *)text, size, "r");
	if (!file)
		return mf_error_set(err, -errno, "cannot read the suppressions of %.600s: %s", name, strerror(errno));
	return read_file(suppressions, file, name, err);
}

void mf_suppressions_deinit(struct mf_suppressions *suppressions)
{
	for (size_t i = 0; i < suppressions->count; i++)
		release(&suppressions->list[i]);
	free(suppressions->list);
	*suppressions = (struct mf_suppressions){ 0 };
}
