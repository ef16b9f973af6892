// SPDX-License-Identifier: GPL-2.0
// Shortens names of functions and places: C++ spells out all template arguments.

#include "label.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/cleanup.h"

/* A name that is cut keeps at least so many columns beside its file and line. */
#define NAME_COLUMNS_MIN 10u

static unsigned int columns_of(const char *text)
{
	mbstate_t state = { 0 };
	unsigned int columns = 0;
	wchar_t c;

	for (size_t length = strlen(text), n; length; text += n, length -= n) {
		int width = 1;

		n = mbrtowc(&c, text, length, &state);
		if (n == (size_t)-1 || n == (size_t)-2 || !n) {
			memset(&state, 0, sizeof(state));
			n = 1;
		} else {
			width = wcwidth(c);
		}
		columns += width > 0 ? (unsigned int)width : 0;
	}
	return columns;
}

/* Returns whether @text has at most @columns columns. A column takes at most a few bytes, so this does not take long. */
static bool fits(const char *text, unsigned int columns)
{
	size_t length = strnlen(text, (size_t)columns * MB_LEN_MAX + 1);

	return length <= (size_t)columns * MB_LEN_MAX && columns_of(text) <= columns;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* A short name, and the text that it stands for: the demangler does not know typedefs. */
struct alias {
	const char *name, *stands_for;
};

static const struct alias *find_alias(const char *text)
{
	static const struct alias aliases[] = {
		{ "", "[abi:cxx11]" },
		{ "std::string", "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >" },
		{ "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >" },
		{ "std::string", "std::__cxx11::basic_string<char>" },
		{ "std::string_view", "std::basic_string_view<char, std::char_traits<char> >" },
		{ "std::string_view", "std::basic_string_view<char>" },
	};

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (begins_with(text, aliases[i].stands_for))
			return &aliases[i];
	return NULL;
}

static void name_strings(char *label)
{
	const char *from = label;
	char *to = label;

	while (*from) {
		const struct alias *alias = find_alias(from);

		if (alias) {
			to = mempcpy(to, alias->name, strlen(alias->name));
			from += strlen(alias->stands_for);
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Returns where the name of the file begins in the path that starts at @path and ends before @end. */
static const char *file_in(const char *path, const char *end)
{
	const char *slash = memrchr(path, '/', (size_t)(end - path));

	return slash && slash + 1 < end ? slash + 1 : path;
}

/* "(in /usr/lib/libz.so.1)" becomes "(in libz.so.1)", and a label that is a path its last part. */
static void drop_directories(char *label)
{
	const char *from = label, *start, *end;
	char *to = label;

	if (*label == '/')
		from = file_in(label, label + strlen(label));
	while ((start = strstr(from, " (in /")) && (end = strchr(start, ')'))) {
		start += strlen(" (in ");
		memmove(to, from, (size_t)(start - from));
		to += start - from;
		from = file_in(start, end);
		memmove(to, from, (size_t)(end - from));
		to += end - from;
		from = end;
	}
	memmove(to, from, strlen(from) + 1);
}

/* Returns how long the operator's name at @at is if its characters look like brackets: operator<<, operator->. */
static size_t length_of_operator(const char *label, const char *at)
{
	size_t length = strlen("operator");
	const char *end = at;

	if ((size_t)(at - label) < length || !begins_with(at - length, "operator"))
		return 0;
	if (begins_with(at, "()"))
		return 2;
	while (*end && strchr("<>-=", *end) && end - at < 3)
		end++;
	/* "operator< <int>" has a blank, but "operator=<int>" and "operator-<int>" have none. */
	if (end > at + 1 && end[-1] == '<' && *at != '<')
		end--;
	return (size_t)(end - at);
}

/* The brackets around what is left out. */
struct brackets {
	char open, close;
	const char *left;	     /* what is put in its place */
	const char *const *kept; /* texts that stay, unless within something that is left out */
};

static bool is_kept(const char *text, const char *const *kept)
{
	for (; *kept; kept++)
		if (begins_with(text, *kept))
			return true;
	return false;
}

/* Returns the bracket that closes the one at @at, or NULL. */
static const char *closing(const char *label, const char *at, const struct brackets *brackets)
{
	size_t depth = 0;

	for (; *at; at += length_of_operator(label, at) ?: 1) {
		if (length_of_operator(label, at))
			continue;
		depth += *at == brackets->open;
		depth -= *at == brackets->close;
		if (!depth)
			return at;
	}
	return NULL;
}

/* Leaves out what is between outermost brackets. If some are not closed, the rest of the label is kept. */
static void empty_brackets(char *label, const struct brackets *brackets)
{
	const char *from = label, *end;
	char *to = label;

	while (*from) {
		size_t n = length_of_operator(label, from);

		if (*from != brackets->open || n || is_kept(from, brackets->kept)) {
			n = n ?: 1;
			memmove(to, from, n);
			to += n;
			from += n;
			continue;
		}
		end = closing(label, from, brackets);
		if (!end)
			break;
		/* Never longer than what is left out. */
		if ((size_t)(end - from) + 1 > strlen(brackets->left)) {
			to = mempcpy(to, brackets->left, strlen(brackets->left));
		} else {
			memmove(to, from, (size_t)(end - from) + 1);
			to += end - from + 1;
		}
		from = end + 1;
	}
	memmove(to, from, strlen(from) + 1);
}

static void drop_arguments(char *label)
{
	static const char *const kept[] = { "<lambda", NULL };

	empty_brackets(label, &(struct brackets){ '<', '>', "<>", kept });
}

/* Returns where " (file:line)" or " (in object)" begins at the end of @label, or NULL. */
static char *find_position(char *label)
{
	size_t length = strlen(label);
	char *open = length && label[length - 1] == ')' ? strrchr(label, '(') : NULL;

	return open && open > label && open[-1] == ' ' && strchr(open, ')') == label + length - 1 ? open - 1 : NULL;
}

static void drop_parameters(char *label)
{
	static const char *const kept[] = { "(anonymous namespace)", NULL };
	char *position = find_position(label);
	mf_auto_free char *tail = strdup(position ?: "");

	/* In a stack, there are several positions. */
	if (!tail || strstr(label, " < "))
		return;
	if (position)
		*position = '\0';
	empty_brackets(label, &(struct brackets){ '(', ')', "(...)", kept });
	strcat(label, tail);
}

/* Returns where the file and line begin at the end of @label; NULL if it has none, or is a stack. */
static char *find_line(char *label)
{
	char *position = find_position(label);

	return position && !begins_with(position, " (in ") && !strstr(label, " < ") ? position : NULL;
}

/* Where the file and line are known, "place (orders.cpp:39)" is enough for "shop::Orders::place(...) (orders.cpp:39)". */
static void drop_all_parameters(char *label)
{
	static const char call_operator[] = "operator()";
	size_t length = strlen(call_operator);
	char *position = find_line(label), *open = NULL;

	if (!position || position == label || position[-1] != ')')
		return;
	if ((size_t)(position - label) >= length && begins_with(position - length, call_operator))
		return;
	open = memrchr(label, '(', (size_t)(position - label));
	if (open && open > label)
		memmove(open, position, strlen(position) + 1);
}

/* Leaves out namespaces and classes until the rest of @label fits, if it does then. */
static void drop_namespaces(char *label, unsigned int columns)
{
	char *position = find_line(label);
	/* What has a blank is no name: the type of a result, or "operator new". */
	const char *blank = position ? memrchr(label, ' ', (size_t)(position - label)) : NULL;
	int depth = 0;

	for (char *at = label; position && at + 2 < position; at++) {
		depth += *at == '(' || *at == '<';
		depth -= *at == ')' || *at == '>';
		if (depth || !begins_with(at, "::") || (blank && at < blank) || !fits(at + 2, columns))
			continue;
		memmove(label, at + 2, strlen(at + 2) + 1);
		return;
	}
}

void mf_label_shorten(char *label, unsigned int columns)
{
	static void (*const steps[])(char *label) = {
		name_strings, drop_directories, drop_arguments, drop_parameters, drop_all_parameters,
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && columns_of(label) > columns; i++)
		steps[i](label);
	if (columns_of(label) > columns)
		drop_namespaces(label, columns);
}

/* The file and line, or the library of a function without a name, say more than the end of the name. */
static bool is_worth_keeping(const char *label, const char *position)
{
	return !begins_with(position, " (in ") || begins_with(label, "0x") || begins_with(label, "??\?");
}

void mf_label_print(const struct mf_terminal *terminal, const char *label, unsigned int columns)
{
	mf_auto_free char *text = strdup(label);
	char *position;
	unsigned int used;

	if (!text) {
		mf_terminal_print_cut(terminal, label, columns);
		return;
	}
	mf_label_shorten(text, columns);
	position = find_position(text);
	used = position ? columns_of(position) : 0;
	if (columns_of(text) <= columns || !position || used + NAME_COLUMNS_MIN > columns || strstr(text, " < ") ||
	    !is_worth_keeping(text, position)) {
		mf_terminal_print_cut(terminal, text, columns);
		return;
	}
	*position = '\0';
	mf_terminal_print_cut(terminal, text, columns - used);
	/* The position has been cut off by the null byte over its blank. */
	fprintf(terminal->out, " %s", position + 1);
}
