// SPDX-License-Identifier: GPL-2.0
// Compares prototypes of kernel functions with the kernel's type information (BTF).
//
// Uses only functions that exist in user space, too, so that selftests/host/kmod_btf.c can test it with BTF
// data of its own.
#ifdef __KERNEL__
#include <uapi/linux/btf.h>
#else
#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#endif
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "btf.h"

/* Constants that older headers lack. */
#define KIND_FLOAT	16
#define KIND_DECL_TAG	17
#define KIND_TYPE_TAG	18
#define KIND_ENUM64	19

/*
 * Size of the header fields that all kernels have. Newer kernel headers define more fields, which BTF data from an
 * older pahole may lack.
 */
#define HEAD_LEAST	(offsetof(struct btf_header, str_len) + sizeof(__u32))

/* Maximum number of typedefs and qualifiers on one type; guards against loops in invalid data. */
#define LAYERS_MAX	32

static __u32 kind_of(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info);
}

/* Size in bytes of a type's description, including its members; 0 if its kind is unknown. */
static size_t size_of(const struct btf_type *type)
{
	size_t members = BTF_INFO_VLEN(type->info);

	switch (kind_of(type)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG:
		return sizeof(*type);
	case BTF_KIND_INT:
	case KIND_DECL_TAG:
		return sizeof(*type) + sizeof(__u32);
	case BTF_KIND_VAR:
		return sizeof(*type) + sizeof(struct btf_var);
	case BTF_KIND_ARRAY:
		return sizeof(*type) + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return sizeof(*type) + members * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return sizeof(*type) + members * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return sizeof(*type) + members * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return sizeof(*type) + members * sizeof(struct btf_var_secinfo);
	case KIND_ENUM64:
		return sizeof(*type) + members * 3 * sizeof(__u32);
	default:
		return 0;
	}
}

/*
 * True if a section lies within the BTF data, whose total size is @all bytes. @head is the size of the header, @offset
 * the offset of the section from the end of the header, and @size the section's size.
 */
static bool fits(__u32 head, __u32 offset, __u32 size, size_t all)
{
	return head <= all && offset <= all - head && size <= all - head - offset;
}

int massif_btf_open(struct massif_btf *btf, const void *data, size_t size)
{
	const struct btf_header *head = data;
	size_t at, step;

	if (size < HEAD_LEAST || head->magic != BTF_MAGIC || head->version != BTF_VERSION ||
	    head->hdr_len < HEAD_LEAST || (head->hdr_len | head->type_off) % sizeof(__u32) ||
	    !fits(head->hdr_len, head->type_off, head->type_len, size) ||
	    !fits(head->hdr_len, head->str_off, head->str_len, size) || !head->str_len)
		return -EINVAL;
	btf->types = (const unsigned char *)data + head->hdr_len + head->type_off;
	btf->types_size = head->type_len;
	btf->strings = (const char *)data + head->hdr_len + head->str_off;
	btf->strings_size = head->str_len;
	btf->count = 0;
	btf->offsets = NULL;
	/* The last string must be terminated, so that every name ends inside the string section. */
	if (btf->strings[btf->strings_size - 1])
		return -EINVAL;

	for (at = 0; at < btf->types_size; at += step) {
		if (btf->types_size - at < sizeof(struct btf_type))
			return -EINVAL;
		step = size_of((const struct btf_type *)(btf->types + at));
		if (!step || step > btf->types_size - at)
			return -EINVAL;
		btf->count++;
	}
	return 0;
}

void massif_btf_index(struct massif_btf *btf, __u32 *offsets)
{
	size_t at = 0;
	__u32 i;

	for (i = 0; i < btf->count; i++) {
		offsets[i] = at;
		at += size_of((const struct btf_type *)(btf->types + at));
	}
	btf->offsets = offsets;
}

/* Returns the type with this number, or NULL for void (number 0) and for invalid numbers. */
static const struct btf_type *type_of(const struct massif_btf *btf, __u32 number)
{
	if (!number || number > btf->count)
		return NULL;
	return (const struct btf_type *)(btf->types + btf->offsets[number - 1]);
}

static const char *name_of(const struct massif_btf *btf, const struct btf_type *type)
{
	return type->name_off < btf->strings_size ? btf->strings + type->name_off : "";
}

/*
 * Strips typedefs and qualifiers from a type, and returns the number of the underlying type. Returns ~0U if there are
 * LAYERS_MAX or more of them.
 */
static __u32 bare(const struct massif_btf *btf, __u32 number)
{
	const struct btf_type *type;
	unsigned int layer;

	for (layer = 0; layer < LAYERS_MAX; layer++) {
		type = type_of(btf, number);
		if (!type)
			return number;
		switch (kind_of(type)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case KIND_TYPE_TAG:
			number = type->type;
			break;
		default:
			return number;
		}
	}
	return ~0U;
}

static bool is_kind(const struct massif_btf *btf, __u32 number, __u32 kind)
{
	const struct btf_type *type = type_of(btf, number);

	return type && kind_of(type) == kind;
}

/* Size in bytes of an integer or enum; 0 for other types. */
static __u32 size_of_number(const struct massif_btf *btf, __u32 number)
{
	const struct btf_type *type = type_of(btf, bare(btf, number));

	if (!type)
		return 0;
	switch (kind_of(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
		return type->size;
	default:
		return 0;
	}
}

/* Size in bytes of a struct or union; 0 for other types. */
static __u32 size_of_struct(const struct massif_btf *btf, __u32 number)
{
	const struct btf_type *type = type_of(btf, bare(btf, number));

	return type && (kind_of(type) == BTF_KIND_STRUCT || kind_of(type) == BTF_KIND_UNION) ? type->size : 0;
}

/* True if an argument of this type is passed in one register. */
static bool is_word(const struct massif_btf *btf, __u32 number)
{
	__u32 size = size_of_number(btf, number) ?: size_of_struct(btf, number);

	return is_kind(btf, bare(btf, number), BTF_KIND_PTR) || (size && size <= sizeof(__u64));
}

static bool is_text(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

/* True if type number @number matches @text (@length characters), which describes a type in a prototype. */
static bool is_same(const struct massif_btf *btf, __u32 number, const char *text, size_t length)
{
	unsigned int stars = 0;

	while (length && (text[length - 1] == '*' || text[length - 1] == ' '))
		stars += text[--length] == '*';
	number = bare(btf, number);
	if (!stars) {
		if (is_text(text, length, "void"))
			return !number;
		return (is_text(text, length, "bool") && size_of_number(btf, number) == 1) ||
		       (is_text(text, length, "int") && size_of_number(btf, number) == 4) ||
		       (is_text(text, length, "long") && size_of_number(btf, number) == 8) ||
		       (is_text(text, length, "flags") &&
			(size_of_number(btf, number) == 8 || size_of_struct(btf, number) == 8));
	}
	for (; stars; stars--) {
		if (!is_kind(btf, number, BTF_KIND_PTR))
			return false;
		number = bare(btf, type_of(btf, number)->type);
	}
	if (!length)
		return true;
	if (!is_kind(btf, number, BTF_KIND_STRUCT) && !is_kind(btf, number, BTF_KIND_FWD))
		return false;
	return is_text(text, length, name_of(btf, type_of(btf, number)));
}

/* True if function has the given prototype. */
static bool is_as(const struct massif_btf *btf, __u32 function, const char *prototype)
{
	const struct btf_type *type = type_of(btf, function);
	const struct btf_param *params;
	const char *text = strchr(prototype, '(');
	__u32 count, i;

	if (!text || !is_kind(btf, function, BTF_KIND_FUNC_PROTO) ||
	    !is_same(btf, type->type, prototype, text - prototype))
		return false;
	text++;
	params = (const struct btf_param *)(type + 1);
	count = BTF_INFO_VLEN(type->info);
	if (count > MASSIF_BTF_WORDS)
		return false;
	for (i = 0; i < count; i++) {
		size_t length = strcspn(text, ",)");

		if (!is_word(btf, params[i].type))
			return false;
		if (is_text(text, length, "..."))
			continue;
		if (!is_same(btf, params[i].type, text, length))
			return false;
		text += length;
		text += strspn(text, ", ");
	}
	return is_text(text, strlen(text), ")") || is_text(text, strlen(text), "...)");
}

/* Returns the number of the function type if type is a function or a typedef of a function pointer, otherwise 0. */
static __u32 function_of(const struct massif_btf *btf, const struct btf_type *type)
{
	__u32 pointer;

	switch (kind_of(type)) {
	case BTF_KIND_FUNC:
		return type->type;
	case BTF_KIND_TYPEDEF:
		pointer = bare(btf, type->type);
		return is_kind(btf, pointer, BTF_KIND_PTR) ? type_of(btf, pointer)->type : 0;
	default:
		return 0;
	}
}

void massif_btf_compare(const struct massif_btf *btf, struct massif_btf_row *rows, unsigned int count)
{
	unsigned int row;
	__u32 i;

	for (row = 0; row < count; row++)
		rows[row].verdict = MASSIF_BTF_UNKNOWN;
	for (i = 1; i <= btf->count; i++) {
		const struct btf_type *type = type_of(btf, i);
		__u32 function = function_of(btf, type);
		const char *name = name_of(btf, type);

		if (!function)
			continue;
		for (row = 0; row < count; row++) {
			if (strcmp(rows[row].name, name))
				continue;
			/*
			 * Several static functions may have this name, and any of them could be the hooked one, so all
			 * must match.
			 */
			if (!is_as(btf, function, rows[row].prototype))
				rows[row].verdict = MASSIF_BTF_OTHER;
			else if (rows[row].verdict == MASSIF_BTF_UNKNOWN)
				rows[row].verdict = MASSIF_BTF_SAME;
		}
	}
}
