// SPDX-License-Identifier: GPL-2.0
// Reading a kernel's type information (kmod/btf.c): all kinds of prototypes, and damaged data.
#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "kmod/btf.h"

/* Kernel type information constructed by the test. */
static struct {
	unsigned char types[8192];
	char strings[2048];
	uint32_t types_size, strings_size, count;
} made;

static uint32_t put_string(const char *text)
{
	uint32_t at = made.strings_size;

	strcpy(made.strings + at, text);
	made.strings_size += strlen(text) + 1;
	return at;
}

static void put_word(uint32_t word)
{
	memcpy(made.types + made.types_size, &word, sizeof(word));
	made.types_size += sizeof(word);
}

/* Appends a type. Returns its id. */
static uint32_t put_type(unsigned int kind, unsigned int members, const char *name, uint32_t size_or_type)
{
	put_word(name ? put_string(name) : 0);
	put_word(kind << 24 | members);
	put_word(size_or_type);
	return ++made.count;
}

static uint32_t put_int(const char *name, uint32_t size)
{
	uint32_t number = put_type(BTF_KIND_INT, 0, name, size);

	put_word(size * 8);
	return number;
}

/* Appends a type of @kind that refers to @type. */
static uint32_t put_of(unsigned int kind, const char *name, uint32_t type)
{
	return put_type(kind, 0, name, type);
}

static uint32_t put_struct(const char *name, uint32_t size)
{
	uint32_t number = put_type(BTF_KIND_STRUCT, 1, name, size);

	put_word(put_string("member"));
	put_word(1);
	put_word(0);
	return number;
}

static uint32_t put_prototype(uint32_t result, const uint32_t *arguments, unsigned int count)
{
	uint32_t prototype = put_type(BTF_KIND_FUNC_PROTO, count, NULL, result);
	unsigned int i;

	for (i = 0; i < count; i++) {
		put_word(0);
		put_word(arguments[i]);
	}
	return prototype;
}

#define FUNCTION(name, result, ...)	do {							\
	const uint32_t arguments[] = { __VA_ARGS__ };						\
	put_of(BTF_KIND_FUNC, name, put_prototype(result, arguments,				\
						  sizeof(arguments) / sizeof(arguments[0])));	\
} while (0)

#define HEAD	24	/* size of the header of BTF data */

/* Returns complete BTF data with a header of @head_size bytes, and sets *@size to its size. The caller must free it. */
static unsigned char *finish(size_t *size, size_t head_size)
{
	struct btf_header head = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = head_size,
		.type_len = made.types_size,
		.str_off = made.types_size,
		.str_len = made.strings_size,
	};
	unsigned char *all;

	*size = head_size + made.types_size + made.strings_size;
	all = calloc(1, *size);
	memcpy(all, &head, head_size < HEAD ? head_size : HEAD);
	memcpy(all + head_size, made.types, made.types_size);
	memcpy(all + head_size + made.types_size, made.strings, made.strings_size);
	return all;
}

static unsigned char *make_with_head(size_t *size, size_t head_size)
{
	uint32_t bool_, int_, long_, huge, mm, vma, to_mm, to_vma, to_void, enum_, alias, loop, array;
	unsigned int i;

	memset(&made, 0, sizeof(made));
	made.strings_size = 1;
	bool_ = put_int("_Bool", 1);
	int_ = put_int("int", 4);
	long_ = put_int("long unsigned int", 8);
	huge = put_int("__int128", 16);
	mm = put_struct("mm_struct", 8);
	vma = put_of(BTF_KIND_FWD, "vm_area_struct", 0);
	to_mm = put_of(BTF_KIND_PTR, NULL, mm);
	to_vma = put_of(BTF_KIND_PTR, NULL, put_of(BTF_KIND_CONST, NULL, vma));
	to_void = put_of(BTF_KIND_PTR, NULL, 0);
	enum_ = put_type(BTF_KIND_ENUM, 1, "choice", 4);
	put_word(put_string("ONE"));
	put_word(1);
	/* BTF types of all the kinds for which the test has no other use; the module must skip them. */
	array = put_type(BTF_KIND_ARRAY, 0, NULL, 0);
	put_word(int_);
	put_word(int_);
	put_word(3);
	put_of(BTF_KIND_VAR, "variable", int_);
	put_word(0);
	put_type(BTF_KIND_DATASEC, 1, ".data", 4);
	put_word(made.count);
	put_word(0);
	put_word(4);
	put_type(16, 0, "double", 8);			/* BTF_KIND_FLOAT */
	put_type(17, 0, "tag", int_);			/* BTF_KIND_DECL_TAG */
	put_word(0);
	put_type(19, 1, "wide", 8);			/* BTF_KIND_ENUM64 */
	put_word(put_string("TWO"));
	put_word(2);
	put_word(0);
	alias = put_of(BTF_KIND_TYPEDEF, "vm_flags_t",
		       put_of(BTF_KIND_VOLATILE, NULL, put_of(18, "user", long_)));	/* BTF_KIND_TYPE_TAG */
	loop = made.count + 1;
	put_of(BTF_KIND_TYPEDEF, "endless", loop);

	FUNCTION("plain", int_, to_mm, long_, alias, bool_, enum_);
	FUNCTION("none", 0);
	FUNCTION("gives_pointer", to_vma, put_of(BTF_KIND_PTR, NULL, to_vma), to_void);
	FUNCTION("seven", 0, int_, int_, int_, int_, int_, int_, int_);
	FUNCTION("eight", 0, int_, int_, int_, int_, int_, int_, int_, int_);
	FUNCTION("large", 0, to_mm, huge);
	FUNCTION("structure", 0, to_mm, mm);
	FUNCTION("two_words", 0, to_mm, put_struct("two", 16));
	FUNCTION("arrays", 0, to_mm, array);
	FUNCTION("endless_one", 0, loop);
	FUNCTION("beyond", 0, 1 << 20);
	FUNCTION("twice", 0, int_);
	FUNCTION("twice", 0, long_);
	for (i = 0; i < 2; i++)
		FUNCTION("same_twice", 0, int_);
	put_of(BTF_KIND_FUNC, "no_prototype", int_);
	put_of(BTF_KIND_TYPEDEF, "btf_trace_event",
	       put_of(BTF_KIND_PTR, NULL, put_prototype(0, (const uint32_t[]){ to_void, to_mm }, 2)));
	return finish(size, head_size);
}

static unsigned char *make(size_t *size)
{
	return make_with_head(size, HEAD);
}

/*
 * Returns the result of the module's comparison of the function @name with the expected @prototype, or -1 if @data is
 * not valid type information.
 */
static int verdict(const unsigned char *data, size_t size, const char *name, const char *prototype)
{
	struct massif_btf_row row = { name, prototype, MASSIF_BTF_UNKNOWN };
	struct massif_btf btf;
	uint32_t *offsets;

	if (massif_btf_open(&btf, data, size))
		return -1;
	offsets = calloc(btf.count, sizeof(*offsets));
	massif_btf_index(&btf, offsets);
	massif_btf_compare(&btf, &row, 1);
	free(offsets);
	return row.verdict;
}

#define SAME	MASSIF_BTF_SAME
#define OTHER	MASSIF_BTF_OTHER
#define UNKNOWN	MASSIF_BTF_UNKNOWN

static const struct {
	const char *name, *prototype;
	int verdict;
} cases[] = {
	{ "plain", "int(mm_struct *, long, long, bool, int)", SAME },
	{ "plain", "int(mm_struct *, long, ...)", SAME },
	{ "plain", "int(...)", SAME },
	{ "plain", "int(*, long, long, bool, int, ...)", SAME },
	{ "plain", "long(mm_struct *, long, ...)", OTHER },
	{ "plain", "void(mm_struct *, long, ...)", OTHER },
	{ "plain", "int(mm_struct *, int, ...)", OTHER },
	{ "plain", "int(mm_struct *, bool, ...)", OTHER },
	{ "plain", "int(mm_struct *, *, ...)", OTHER },
	{ "plain", "int(mm_struct, ...)", OTHER },
	{ "plain", "int(mm_struct **, ...)", OTHER },
	{ "plain", "int(mm *, ...)", OTHER },
	{ "plain", "int(mm_struct_of *, ...)", OTHER },
	{ "plain", "int(long, ...)", OTHER },
	{ "plain", "int(mm_struct *, long, long, bool)", OTHER },
	{ "plain", "int(mm_struct *, long, long, bool, int, int)", OTHER },
	{ "plain", "int(mm_struct *, long, long, bool, int, int, ...)", OTHER },
	{ "plain", "int", OTHER },
	{ "plain", "", OTHER },
	{ "plain", "(", OTHER },
	{ "plain", "int(", OTHER },
	{ "none", "void()", SAME },
	{ "none", "void(...)", SAME },
	{ "none", "void(int)", OTHER },
	{ "gives_pointer", "vm_area_struct *(vm_area_struct **, *)", SAME },
	{ "gives_pointer", "*(**, *)", SAME },
	{ "gives_pointer", "vm_area_struct *(vm_area_struct *, *)", OTHER },
	{ "gives_pointer", "vm_area_struct *(vm_area_struct **, mm_struct *)", OTHER },
	{ "gives_pointer", "mm_struct *(vm_area_struct **, *)", OTHER },
	{ "seven", "void(int, ...)", SAME },
	{ "eight", "void(int, ...)", OTHER },
	{ "large", "void(mm_struct *, ...)", OTHER },
	{ "structure", "void(mm_struct *, ...)", SAME },
	{ "structure", "void(mm_struct *, flags)", SAME },
	{ "structure", "void(mm_struct *, long)", OTHER },
	{ "structure", "void(flags, flags)", OTHER },
	{ "two_words", "void(mm_struct *, ...)", OTHER },
	{ "two_words", "void(mm_struct *, flags)", OTHER },
	{ "plain", "int(mm_struct *, flags, ...)", SAME },
	{ "plain", "int(mm_struct *, long, long, flags, int)", OTHER },
	{ "arrays", "void(mm_struct *, ...)", OTHER },
	{ "endless_one", "void(...)", OTHER },
	{ "beyond", "void(...)", OTHER },
	{ "twice", "void(int)", OTHER },
	{ "twice", "void(long)", OTHER },
	{ "same_twice", "void(int)", SAME },
	{ "no_prototype", "int(...)", OTHER },
	{ "btf_trace_event", "void(*, mm_struct *)", SAME },
	{ "btf_trace_event", "void(*, mm_struct *, ...)", SAME },
	{ "btf_trace_event", "void(*, long)", OTHER },
	/* Only functions are compared, so the result for other symbols is UNKNOWN. */
	{ "mm_struct", "void()", UNKNOWN },
	{ "variable", "void()", UNKNOWN },
	{ "plai", "void()", UNKNOWN },
};

TEST(prototypes)
{
	size_t size, i;
	unsigned char *data = make(&size);

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(cases[i].verdict, verdict(data, size, cases[i].name, cases[i].prototype)) {
			TH_LOG("%s as %s", cases[i].name, cases[i].prototype);
		}
	}
	free(data);
}

/* Returns the result of the module's comparison for a function whose argument is an int behind @layers typedefs. */
static int verdict_of_layers(unsigned int layers)
{
	uint32_t type;
	unsigned char *data;
	size_t size;
	int found;

	memset(&made, 0, sizeof(made));
	made.strings_size = 1;
	type = put_int("int", 4);
	while (layers--)
		type = put_of(BTF_KIND_TYPEDEF, "t", type);
	FUNCTION("layered", 0, type);
	data = finish(&size, HEAD);
	found = verdict(data, size, "layered", "void(int)");
	free(data);
	return found;
}

/*
 * The module follows a chain of up to 32 types: at most 31 typedefs, and then the int. A function whose argument type
 * has a longer typedef chain is treated as not matching the expected prototype.
 */
TEST(typedefs_of_typedefs)
{
	EXPECT_EQ(SAME, verdict_of_layers(0));
	EXPECT_EQ(SAME, verdict_of_layers(31));
	EXPECT_EQ(OTHER, verdict_of_layers(32));
	EXPECT_EQ(OTHER, verdict_of_layers(320));
}

/* The header of the type information may be longer in newer kernels. */
TEST(heads_of_other_lengths)
{
	static const size_t longer[] = { HEAD, HEAD + 4, HEAD + 8, 10 * HEAD };
	unsigned char *data;
	size_t size, i;

	for (i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		data = make_with_head(&size, longer[i]);
		EXPECT_EQ(SAME, verdict(data, size, "none", "void()"));
		free(data);
	}
	data = make_with_head(&size, HEAD - 4);
	EXPECT_EQ(-1, verdict(data, size, "none", "void()"));
	free(data);
}

/*
 * Returns verdict() for a copy of the first @size bytes in a block of exactly that size, so that AddressSanitizer
 * notices reads beyond it.
 */
static int verdict_of_part(const unsigned char *data, size_t size)
{
	unsigned char *part = malloc(size ?: 1);
	int result;

	memcpy(part, data, size);
	result = verdict(part, size, "plain", "int(mm_struct *, long, ...)");
	free(part);
	return result;
}

TEST(cut_off_anywhere)
{
	size_t size, n;
	unsigned char *data = make(&size);

	for (n = 0; n < size; n++)
		EXPECT_EQ(-1, verdict_of_part(data, n)) TH_LOG("%zu", n);
	EXPECT_EQ(SAME, verdict_of_part(data, size));
	free(data);
}

/* Whichever byte is changed, nothing outside the data is read, and the reader terminates. */
TEST(each_byte_changed)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t size, n, i;
	unsigned char *data = make(&size);

	for (n = 0; n < size; n++) {
		unsigned char was = data[n];

		for (i = 0; i < sizeof(values); i++) {
			int result;

			data[n] = values[i];
			result = verdict_of_part(data, size);
			EXPECT_LE(-1, result);
			EXPECT_GE(OTHER, result);
		}
		data[n] = was;
	}
	free(data);
}

/*
 * Looks up vfs_read(), whose prototype has not changed for years, in the type information (BTF) of this machine's
 * kernel, if there is any. The module's comparison must find that the function has this prototype and not a different
 * one.
 */
TEST(of_a_real_kernel)
{
	FILE *file = fopen("/sys/kernel/btf/vmlinux", "re");
	unsigned char *data = malloc(64 << 20);
	size_t size = file ? fread(data, 1, 64 << 20, file) : 0;

	if (file)
		fclose(file);
	if (size) {
		EXPECT_EQ(SAME, verdict(data, size, "vfs_read", "long(file *, *, long, *)"));
		EXPECT_EQ(OTHER, verdict(data, size, "vfs_read", "long(*, file *, long, *)"));
	}
	free(data);
	if (!size)
		SKIP(return, "this machine's kernel has no types");
}

TEST_HARNESS_MAIN
