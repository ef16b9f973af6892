// SPDX-License-Identifier: GPL-2.0
// Parses the lines of a massif.out file; syntax.h describes the format.

#include "syntax.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "failure.h"

static const char *const field_names[MF_FIELDS] = {
	[MF_FIELD_SNAPSHOT] = "snapshot",
	[MF_FIELD_TIME] = "time",
	[MF_FIELD_HEAP] = "mem_heap_B",
	[MF_FIELD_EXTRA] = "mem_heap_extra_B",
	[MF_FIELD_STACKS] = "mem_stacks_B",
	[MF_FIELD_TREE] = "heap_tree",
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Returns the exit status for a malformed line. A line without a newline is the last line of a file that is probably
 * truncated.
 */
static enum mf_failure_status line_status(const struct mf_line *line)
{
	return line->newline ? MF_FAILURE_FORMAT : MF_FAILURE_OTHER;
}

/*
 * Adds the line to the message, with a newline. (If the line has none, Valgrind's ms_print adds a position in its own
 * source instead.)
 */
static void quote_line(struct mf_failure *failure, const struct mf_line *line)
{
	mf_failure_quote(failure, line->data, line->len);
	mf_failure_quote(failure, "\n", 1);
}

static int fail_line(const struct mf_input *input, const struct mf_line *line, bool at_end,
		     const char *what, struct mf_failure *failure)
{
	return mf_failure_set_in(failure, input->path, input->line,
				 at_end ? MF_FAILURE_OTHER : line_status(line), "%s%s", what,
				 at_end ? ": the file is cut off" : "");
}

static bool begins_with(const struct mf_line *line, const char *word, size_t len)
{
	return line->len >= len && !memcmp(line->data, word, len);
}

/*
 * Sets *@value to what follows @word and any whitespace after it. Returns false if the line does not begin with @word.
 */
static bool take_value(const struct mf_line *line, const char *word, struct mf_text *value)
{
	size_t i = strlen(word);

	if (!begins_with(line, word, i))
		return false;
	while (i < line->len && is_blank(line->data[i]))
		i++;
	mf_text_set(value, line->data + i, line->len - i);
	return true;
}

static bool is_unit(const struct mf_text *text)
{
	return mf_text_equals(text, "i") || mf_text_equals(text, "ms") || mf_text_equals(text, "B");
}

int mf_syntax_header_read(struct mf_input *input, struct mf_header *header,
			  struct mf_failure *failure)
{
	static const char desc[] = "desc:", recording[] = "massif.rec\r";
	struct mf_line line;
	bool more;

	header->desc.len = 0;
	while ((more = mf_input_next(input, &line)) && begins_with(&line, desc, strlen(desc))) {
		mf_text_append(&header->desc, line.data + strlen(desc), line.len - strlen(desc));
		mf_text_append(&header->desc, "\n", line.newline);
	}
	if (more && begins_with(&line, recording, strlen(recording)))
		return fail_line(input, &line, false, "this is a recording; print it by massif-ctl show, or by "
						      "massif-ctl export FILE | ms_print /dev/stdin", failure);
	if (!more || !take_value(&line, "cmd:", &header->command))
		return fail_line(input, &line, !more,
				 more ? "missing 'cmd' line: this is not a massif.out file" :
					"missing 'cmd' line", failure);
	more = mf_input_next(input, &line);
	if (!more || !take_value(&line, "time_unit:", &header->time_unit))
		return fail_line(input, &line, !more, "missing 'time_unit' line", failure);
	if (!is_unit(&header->time_unit))
		return mf_failure_set_in(failure, input->path, input->line, MF_FAILURE_OTHER,
					 "unknown unit of time, not i, ms or B: %.*s",
					 (int)(header->time_unit.len < 40 ? header->time_unit.len : 40),
					 header->time_unit.data ?: "");
	return 0;
}

void mf_syntax_header_deinit(struct mf_header *header)
{
	mf_text_deinit(&header->desc);
	mf_text_deinit(&header->command);
	mf_text_deinit(&header->time_unit);
}

static int take_field(struct mf_input *input, const struct mf_line *line, const char *name,
		      struct mf_text *value, struct mf_failure *failure)
{
	size_t len = strlen(name);

	if (begins_with(line, name, len) && line->len > len && line->data[len] == '=') {
		mf_text_set(value, line->data + len + 1, line->len - len - 1);
		return 0;
	}
	mf_failure_set_in(failure, input->path, input->line, line_status(line),
			  "expected \"%s\" line, got:", name);
	quote_line(failure, line);
	return -EINVAL;
}

/*
 * Parses the leading digits of eight bytes without a loop. Returns the number of digits, 0 to 8. Every line of every
 * tree contains two numbers; a loop that read one digit at a time would cause a branch misprediction at its end
 * whenever the number of digits differed from the last time.
 */
static unsigned int take_word(const char *at, uint64_t *number)
{
	const uint64_t zeros = UINT64_C(0x3030303030303030);
	uint64_t word, others;
	unsigned int digits;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word) ^ zeros;
	/*
	 * The XOR has turned each digit into a byte from 0 to 9. Adding 6 to a byte above 9 sets one of its upper bits.
	 * If a byte that is not a digit overflows, the carry affects only later bytes, which do not matter.
	 */
	others = (word | (word + UINT64_C(0x0606060606060606))) & UINT64_C(0xf0f0f0f0f0f0f0f0);
	digits = others ? __builtin_ctzll(others) / 8 : 8;
	*number = 0;
	if (!digits)
		return 0;
	/*
	 * Shift in leading zeros to replace the bytes after the digits. Then combine the digits into a number: first
	 * pairs, then groups of four, then all eight.
	 */
	word <<= 8 * (8 - digits);
	word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
	*number = (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
	return digits;
}

/*
 * Parses a string of digits into *@number, which is set to UINT64_MAX if the number is too large. Returns a pointer
 * just past the last digit, or NULL if there are no digits.
 */
static const char *take_digits(const char *at, const char *end, uint64_t *number)
{
	const char *first = at;
	uint64_t value = 0;

	if (end - at >= 8) {
		at += take_word(at, &value);
		if (at < first + 8) {
			*number = value;
			return at > first ? at : NULL;
		}
	}
	for (; at < end && is_digit(*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *at - '0', &value)) {
			value = UINT64_MAX;
			while (at < end && is_digit(*at))
				at++;
			break;
		}
	}
	*number = value;
	return at > first ? at : NULL;
}

/* Rejects a field that is not a number, because the report would otherwise show a wrong number for it. */
static int check_number(const struct mf_input *input, const struct mf_line *line,
			const struct mf_text *value, struct mf_failure *failure)
{
	size_t digits = 0, end;
	bool fits = true;
	uint64_t number = 0;

	for (; digits < value->len && is_digit(value->data[digits]); digits++)
		fits = fits && !__builtin_mul_overflow(number, 10, &number) &&
		       !__builtin_add_overflow(number, value->data[digits] - '0', &number);
	for (end = digits; end < value->len && is_blank(value->data[end]); end++)
		;
	if (digits && end == value->len && fits)
		return 0;
	return mf_failure_set_in(failure, input->path, input->line, line_status(line), "%s: %.*s",
				 fits ? "expected a number, got" : "a number that is too large",
				 (int)(line->len < 200 ? line->len : 200), line->data);
}

int mf_syntax_record_read(struct mf_input *input, struct mf_record *record,
			  struct mf_failure *failure)
{
	const struct mf_text *tree = &record->fields[MF_FIELD_TREE];
	struct mf_line line;
	int ret;
	int i;

	for (i = 0; i < MF_FIELDS; i++) {
		if (!mf_input_next(input, &line)) {
			if (i == 0)
				return 0;
			return mf_failure_set_in(failure, input->path, input->line, MF_FAILURE_OTHER,
						 "expected \"%s\" line, got end of file: the file is "
						 "cut off", field_names[i]);
		}
		ret = take_field(input, &line, field_names[i], &record->fields[i], failure);
		if (!ret && i != MF_FIELD_TREE)
			ret = check_number(input, &line, &record->fields[i], failure);
		if (ret)
			return ret;
	}
	/*
	 * Any text that contains "detailed" or "peak" means that a tree follows; only the exact word "peak" marks the
	 * peak.
	 */
	record->has_tree = !mf_text_equals(tree, "empty");
	record->is_peak = mf_text_equals(tree, "peak");
	if (record->has_tree && !mf_text_contains(tree, "detailed") &&
	    !mf_text_contains(tree, "peak"))
		return fail_line(input, &line, false,
				 "expected 'empty' or '...' after 'heap_tree='", failure);
	return 1;
}

void mf_syntax_record_deinit(struct mf_record *record)
{
	int i;

	for (i = 0; i < MF_FIELDS; i++)
		mf_text_deinit(&record->fields[i]);
}

static struct mf_number field_number(const struct mf_record *record, enum mf_field field)
{
	return mf_number_parse(record->fields[field].data ?: "", record->fields[field].len);
}

struct mf_number mf_syntax_record_total(const struct mf_record *record)
{
	struct mf_number total = field_number(record, MF_FIELD_HEAP);

	total = mf_number_add(total, field_number(record, MF_FIELD_EXTRA));
	return mf_number_add(total, field_number(record, MF_FIELD_STACKS));
}

static bool take_node(const struct mf_line *line, struct mf_node *node)
{
	const char *at = line->data + line->blanks;
	const char *end = line->data + line->len;
	uint64_t bytes;

	if (at == end || *at++ != 'n')
		return false;
	at = take_digits(at, end, &node->children);
	if (!at || at == end || *at++ != ':')
		return false;
	while (at < end && is_blank(*at))
		at++;
	node->digits = at;
	at = take_digits(at, end, &bytes);
	if (!at)
		return false;
	node->digits_len = at - node->digits;
	node->bytes = bytes == UINT64_MAX ? mf_number_parse(node->digits, node->digits_len)
					  : mf_number_of(bytes);
	node->details = at;
	node->details_len = end - at;
	return true;
}

int mf_syntax_node_read(struct mf_input *input, struct mf_number total, struct mf_node *node,
			struct mf_failure *failure)
{
	struct mf_line line;
	bool more;

	more = mf_input_next(input, &line);
	if (!more)
		return mf_failure_set_in(failure, input->path, input->line, MF_FAILURE_OTHER,
					 "expected a tree node line, got end of file: the file is cut off");
	if (!take_node(&line, node)) {
		mf_failure_set_in(failure, input->path, input->line, line_status(&line),
				  "expected a tree node line, got:");
		quote_line(failure, &line);
		return -EINVAL;
	}
	if (!mf_number_at_least(total, node->bytes))
		return mf_failure_set_in(failure, input->path, input->line, line_status(&line),
					 "a tree node is larger than its snapshot");
	return 0;
}
