// SPDX-License-Identifier: GPL-2.0
// Redirects all calls of one function to another function, and keeps a callable copy of the original.
//
// The instructions that the jump overwrites are copied to memory near the function, followed by a jump to the next
// instruction. No return address may point into the copy, because stacks could not be unwound from there. So a call in
// the copy becomes a push of its original return address followed by a jump.

#include "code_detour.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "instruction.h"
#include "patch.h"

#ifdef __x86_64__

/* maximum size in bytes of a copy: the overwritten instructions, which may grow when they are moved, and a jump back */
#define COPY_MAX 128u
#define ENTRY_MAX 16u
#define ALIGNMENT 16u /* alignment of functions in bytes: the next function may begin at any multiple of this */

/* The buffer for generated code: the next byte is written at @at; @end is the limit. */
struct writer {
	uint8_t *at, *end;
	bool failed;
};

static void put(struct writer *writer, const void *bytes, size_t n)
{
	if ((size_t)(writer->end - writer->at) < n) {
		writer->failed = true;
		return;
	}
	memcpy(writer->at, bytes, n);
	writer->at += n;
}

static void put_distance(struct writer *writer, uint64_t to)
{
	int64_t distance = (int64_t)(to - ((uintptr_t)writer->at + sizeof(int32_t)));
	int32_t narrow = (int32_t)distance;

	if (narrow != distance)
		writer->failed = true;
	put(writer, &narrow, sizeof(narrow));
}

static void put_jump(struct writer *writer, uint64_t to)
{
	put(writer, "\xe9", 1);
	put_distance(writer, to);
}

/* push imm32; movl imm32, 4(%rsp): changes neither registers nor flags */
static void put_push(struct writer *writer, uint64_t value)
{
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);

	put(writer, "\x68", 1);
	put(writer, &low, sizeof(low));
	put(writer, "\xc7\x44\x24\x04", 4);
	put(writer, &high, sizeof(high));
}

/* Copies an instruction, adjusting only its RIP-relative displacement, if it has one. */
static void put_same(struct writer *writer, const uint8_t *from, const struct mf_instruction *in)
{
	uint8_t *copy = writer->at;
	int64_t distance;
	int32_t narrow;

	put(writer, from, in->length);
	if (!in->near_offset || writer->failed)
		return;
	memcpy(&narrow, from + in->near_offset, sizeof(narrow));
	distance = (int64_t)narrow + (from - copy);
	narrow = (int32_t)distance;
	if (narrow != distance)
		writer->failed = true;
	memcpy(copy + in->near_offset, &narrow, sizeof(narrow));
}

/*
 * Writes the code for a moved call *data(%rip): a push of the return address, then a jump. Refuses other indirect
 * calls, because their operands may be relative to rsp, which the push changes.
 */
static void put_indirect_call(struct writer *writer, const uint8_t *from,
			      const struct mf_instruction *in)
{
	int32_t distance;

	if (in->length != 6 || in->opcode_offset != 0 || from[1] != 0x15) {
		writer->failed = true;
		return;
	}
	memcpy(&distance, from + 2, sizeof(distance));
	put_push(writer, (uintptr_t)from + in->length);
	put(writer, "\xff\x25", 2);
	put_distance(writer, (uintptr_t)from + in->length + (uint64_t)(int64_t)distance);
}

static void put_branch(struct writer *writer, const uint8_t *from, const struct mf_instruction *in,
		       uint64_t to)
{
	const uint8_t code[] = { 0x0f, (uint8_t)(0x80 | (from[in->opcode_offset] & 15)) };

	put(writer, code, sizeof(code));
	put_distance(writer, to);
}

/* Writes code that is equivalent to the instruction at @from. */
static void put_moved(struct writer *writer, const uint8_t *from, const struct mf_instruction *in)
{
	uint64_t next = (uintptr_t)from + in->length, to = next + (uint64_t)in->distance;

	switch (in->flow) {
	case MF_FLOW_ON:
	case MF_FLOW_AWAY:
		put_same(writer, from, in);
		return;
	case MF_FLOW_BRANCH:
		put_branch(writer, from, in, to);
		return;
	case MF_FLOW_JUMP:
		put_jump(writer, to);
		return;
	case MF_FLOW_CALL:
		put_push(writer, next);
		put_jump(writer, to);
		return;
	case MF_FLOW_INDIRECT_CALL:
		put_indirect_call(writer, from, in);
		return;
	case MF_FLOW_SHORT_BRANCH:
		break;
	}
	writer->failed = true;
}

static bool ends(enum mf_flow flow)
{
	return flow == MF_FLOW_AWAY || flow == MF_FLOW_JUMP;
}

/*
 * Returns whether the copy of a function's first instructions ends after an instruction of this kind. The copy always
 * ends after a call, because the call returns into the original function.
 */
static bool leaves(enum mf_flow flow)
{
	return ends(flow) || flow == MF_FLOW_CALL || flow == MF_FLOW_INDIRECT_CALL;
}

static bool is_relative(enum mf_flow flow)
{
	return flow == MF_FLOW_BRANCH || flow == MF_FLOW_SHORT_BRANCH || flow == MF_FLOW_JUMP ||
	       flow == MF_FLOW_CALL;
}

/*
 * Returns whether the whole function can be decoded and none of its jumps leads into the bytes that the detour will
 * overwrite.
 */
static bool is_clear(const uint8_t *site, size_t size)
{
	const uint8_t *at = site, *end = site + size;
	struct mf_instruction in;

	for (; at < end; at += in.length) {
		uint64_t place;

		if (!mf_instruction_read(at, (size_t)(end - at), &in))
			return false;
		place = (uintptr_t)at + in.length + (uint64_t)in.distance - (uintptr_t)site;
		/* A recursive call to the first byte is allowed: it takes the detour, like any other call. */
		if (is_relative(in.flow) && place < MF_PATCH_BYTES &&
		    (place || in.flow != MF_FLOW_CALL))
			return false;
	}
	return at == end;
}

/*
 * Returns true if the function is at least as long as the jump, or if all further bytes that the jump overwrites are
 * padding, which is never executed.
 */
static bool is_padded(const uint8_t *site, size_t size)
{
	const uint8_t *at = site + size, *end = site + MF_PATCH_BYTES;
	struct mf_instruction in;

	if (at >= end)
		return true;
	if (((uintptr_t)at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT < (uintptr_t)end)
		return false;
	for (; at < end; at += in.length)
		if (!mf_instruction_read(at, MF_INSTRUCTION_MAX, &in) || !in.is_padding)
			return false;
	return true;
}

static void put_original(struct writer *writer, const uint8_t *site, size_t size)
{
	const uint8_t *at = site, *limit = site + size;
	struct mf_instruction in = { 0 };

	while (at < site + MF_PATCH_BYTES && at < limit && !leaves(in.flow)) {
		if (!mf_instruction_read(at, (size_t)(limit - at), &in)) {
			writer->failed = true;
			return;
		}
		put_moved(writer, at, &in);
		at += in.length;
	}
	if (leaves(in.flow))
		return;
	/* Make the copy end with a jump to the rest of the function, after the overwritten instructions. */
	if (at < site + MF_PATCH_BYTES)
		writer->failed = true;
	put_jump(writer, (uintptr_t)at);
}

/*
 * Writes the code that the detour jumps to. Unless @datum is NULL, this code pushes rbp and @datum. Then it jumps to
 * @target.
 */
static void put_entry(struct writer *writer, const void *target, const void *datum)
{
	uint8_t jump[MF_JUMP_FAR_BYTES];

	if (datum) {
		put(writer, "\x55", 1);
		put_push(writer, (uintptr_t)datum);
	}
	mf_jump_encode_far(jump, (uintptr_t)target);
	put(writer, jump, sizeof(jump));
}

static uint64_t hash_of(const uint8_t *site, size_t size)
{
	uint64_t hash = size;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ site[i]) * 0x100000001b3ull;
	return hash;
}

bool mf_code_detour_is_placed(const struct mf_code_detour *detour)
{
	uint8_t jump[MF_JUMP_BYTES];

	mf_jump_encode(jump, (uintptr_t)detour->site, (uintptr_t)detour->via);
	return !memcmp(detour->site, jump, sizeof(jump));
}

bool mf_code_detour_fits(const struct mf_code_detour *detour, size_t size)
{
	return detour->code == hash_of(detour->site, size);
}

static int make(struct mf_code_detour *detour, void *site, size_t size, const void *target,
		const void *datum, bool keep)
{
	size_t room_bytes = ENTRY_MAX + MF_JUMP_FAR_BYTES + (keep ? COPY_MAX : 0);
	struct writer writer;
	void *room;
	int code = mf_patch_room(site, room_bytes, &room);

	if (code)
		return code;
	writer = (struct writer){ .at = room, .end = (uint8_t *)room + room_bytes };
	*detour = (struct mf_code_detour){ .site = site, .via = room, .code = hash_of(site, size) };
	put_entry(&writer, target, datum);
	if (keep) {
		detour->original = writer.at;
		put_original(&writer, site, size);
	}
	return writer.failed ? -ENOEXEC : 0;
}

int mf_code_detour_prepare(struct mf_code_detour *detour, void *site, size_t size, const void *target,
		      const void *datum)
{
	if (!size || !is_clear(site, size) || !is_padded(site, size))
		return -ENOEXEC;
	return make(detour, site, size, target, datum, true);
}

int mf_code_detour_replace(struct mf_code_detour *detour, void *site, const void *target, const void *datum)
{
	return make(detour, site, 0, target, datum, false);
}

int mf_code_detour_place(const struct mf_code_detour *detour)
{
	return mf_patch_jump(detour->site, detour->via);
}

#else

int mf_code_detour_prepare(struct mf_code_detour *detour, void *site, size_t size, const void *target,
		      const void *datum)
{
	return -ENOTSUP;
}

int mf_code_detour_replace(struct mf_code_detour *detour, void *site, const void *target, const void *datum)
{
	return -ENOTSUP;
}

int mf_code_detour_place(const struct mf_code_detour *detour)
{
	return -ENOTSUP;
}

bool mf_code_detour_is_placed(const struct mf_code_detour *detour)
{
	return false;
}

bool mf_code_detour_fits(const struct mf_code_detour *detour, size_t size)
{
	return false;
}

#endif
