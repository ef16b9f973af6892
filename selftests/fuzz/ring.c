// SPDX-License-Identifier: GPL-2.0
// Fuzzes the part of pages mode that reads the ring, using records that the module would never write.
//
// An input is a list of records. Each record consists of a four-byte recipe followed by the record's words, most of
// which are encoded in one byte. Most records are well-formed, so that the code behind the format checks is reached.
// The headers of the others are raw bytes taken from the input.

#include "selftests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>

#include <linux/massif.h>

#include "pages/pages.h"
#include "report/collect.h"
#include "report/massif_file.h"
#include "symbols/symbolizer.h"

#define RING_BYTES (64u << 10)

static struct {
	struct massif_control control;
	struct massif_consumer consumer;
	uint8_t data[RING_BYTES] __attribute__((aligned(8)));
	uint64_t seq, time_ns;
} ring;

static const uint16_t sizes[] = {
	[MASSIF_REC_LOST] = sizeof(struct massif_rec_lost),
	[MASSIF_REC_ENROL] = sizeof(struct massif_rec_enrol),
	[MASSIF_REC_FORK] = sizeof(struct massif_rec_fork),
	[MASSIF_REC_EXEC] = sizeof(struct massif_rec_exec) + 8,
	[MASSIF_REC_EXIT] = sizeof(struct massif_rec_exit),
	[MASSIF_REC_END] = sizeof(struct massif_rec_end),
	[MASSIF_REC_RESYNC_BEGIN] = sizeof(struct massif_rec_resync),
	[MASSIF_REC_VMA] = sizeof(struct massif_rec_vma),
	[MASSIF_REC_RESYNC_END] = sizeof(struct massif_rec_resync),
	[MASSIF_REC_MAP] = sizeof(struct massif_rec_map),
	[MASSIF_REC_UNMAP] = sizeof(struct massif_rec_map),
	[MASSIF_REC_NAME] = sizeof(struct massif_rec_vma),
	[MASSIF_REC_STACK] = sizeof(struct massif_rec_stack) + 8 * MASSIF_X86_64_REGS,
	[MASSIF_REC_RESIDENT] = sizeof(struct massif_rec_resident),
	[MASSIF_REC_MOVE] = sizeof(struct massif_rec_move),
	[MASSIF_REC_ATTACH] = sizeof(struct massif_rec_enrol),
	[MASSIF_REC_ARGS] = sizeof(struct massif_rec_args) + 8,
};

#define TYPES (sizeof(sizes) / sizeof(sizes[0]))

static const char *const names[] = { "", "[heap]", "[stack]", "[vdso]", "/bin/true", "/bin/true (deleted)", "/", "//" };

/* The four bytes at the start of each record in the fuzz input, which determine how the record in the ring is built. */
struct recipe {
	uint8_t type;	/* type of the record; if this byte is 0x80 or more, the record's header is raw input */
	uint8_t target; /* low four bits: number of the target; high four bits: id of the stack */
	uint8_t flags;
	/*
	 * the low six bits give the number of words by which the record is longer than the minimum for its type; if
	 * this byte is 0x80 or more, a sequence number is skipped as well
	 */
	uint8_t more;
};

/*
 * Decodes bytes of the fuzz input into a 64-bit word of a record: a small number, the address of a page, or any number.
 */
static uint64_t take_word(struct fuzz_input *input)
{
	uint8_t kind = fuzz_u8(input);

	if (kind < 0x60)
		return kind;
	if (kind < 0xf0)
		return 0x10000 + (uint64_t)(kind - 0x60) * 4096;
	if (kind < 0xf8)
		return fuzz_u16(input);
	return fuzz_u64(input);
}

static void set_name(struct massif_rec_vma *vma, uint32_t choice)
{
	const char *name = names[choice % (sizeof(names) / sizeof(names[0]))];

	vma->name_len = (uint32_t)strlen(name);
	memcpy(vma->name, name, vma->name_len + 1);
}

/* Makes the lengths in @record consistent with its size and its contents. */
static void put_right(struct massif_record *record)
{
	struct massif_rec_stack *stack = (void *)record;
	struct massif_rec_args *args = (void *)record;

	switch (record->type) {
	case MASSIF_REC_VMA:
	case MASSIF_REC_NAME:
		set_name((void *)record, ((struct massif_rec_vma *)record)->name_len);
		break;
	case MASSIF_REC_STACK:
		stack->arch = MASSIF_ARCH_X86_64;
		stack->nr_regs = MASSIF_X86_64_REGS;
		stack->data_off = sizes[MASSIF_REC_STACK];
		stack->bytes = record->size - stack->data_off;
		break;
	case MASSIF_REC_ARGS:
		args->bytes = record->size - (uint32_t)sizeof(*args);
		break;
	case MASSIF_REC_EXEC:
		((char *)record)[record->size - 1] = '\0';
		break;
	default:
		break;
	}
}

/*
 * Limits the numbers of pages, because pages mode loops over all pages. On a real machine, they are limited by the
 * amount of memory.
 */
static void bound_pages(struct massif_rec_resident *resident)
{
	for (int i = 0; i < MASSIF_RSS_COUNT; i++) {
		resident->change[i] %= 2048;
		resident->rss[i] %= 4096;
	}
}

/* Appends a record. Returns false if the ring has no room for it. */
static bool add_record(struct fuzz_input *input)
{
	struct recipe recipe;
	struct massif_record *record = (void *)(ring.data + ring.control.head);
	uint32_t size, type;

	fuzz_take(input, &recipe, sizeof(recipe));
	type = recipe.type % (TYPES + 1);
	size = sizeof(*record) + 24;
	if (type < TYPES && sizes[type])
		size = sizes[type];
	size += 8u * (recipe.more & 0x3f);
	if (type == MASSIF_REC_VMA || type == MASSIF_REC_NAME)
		size += 24;
	size = (size + 7) & ~7u;
	if (size > RING_BYTES - ring.control.head)
		return false;
	memset(record, 0, size);
	for (uint32_t at = sizeof(*record); at < size; at += 8) {
		uint64_t word = take_word(input);

		memcpy((char *)record + at, &word, sizeof(word));
	}
	ring.seq += recipe.more & 0x80 ? 2 : 1;
	ring.time_ns += 1000 * recipe.more;
	*record = (struct massif_record){
		.type = type,
		.size = size,
		.seq = ring.seq,
		.time_ns = ring.time_ns,
		.total_vm = recipe.flags >> 4,
		.target = recipe.target & 15,
		.tid = 100 + (recipe.target >> 7),
		.capture = recipe.target >> 4,
		.flags = recipe.flags & 15,
	};
	if (recipe.type >= 0x80)
		fuzz_take(input, record, sizeof(*record));
	else
		put_right(record);
	if (record->type == MASSIF_REC_RESIDENT)
		bound_pages((void *)record);
	ring.control.head += size;
	return true;
}

static void write_profile(const struct mf_store *store)
{
	struct mf_collection collection = { 0 };
	struct mf_symbolizer *symbolizer;
	struct mf_report_options options = { .threshold = 1.0, .depth = 30 };
	FILE *out = fopen("/dev/null", "w");
	struct mf_error err;

	if (out && !mf_collect(store, (struct mf_end){ 0 }, &collection, &err)) {
		collection.profile.desc = collection.profile.cmd = "";
		if (!mf_symbolizer_create(collection.profile.objects, collection.profile.n_objects,
					  &(struct mf_symbolizer_options){ .unconfined = true }, &symbolizer, &err)) {
			mf_massif_file_write(out, &collection.profile, &options, symbolizer, &err);
			mf_symbolizer_destroy(symbolizer);
		}
	}
	mf_collection_release(&collection);
	if (out)
		fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mf_pages_options options = {
		.model = { .time_unit = MF_TIME_MS, .max_snapshots = 10, .detailed_freq = 2, .alignment = 16 },
		.what = size & 1 ? MF_PAGES_RESIDENT : MF_PAGES_VIRTUAL,
		.depth = 30,
		.traces_children = true,
	};
	struct fuzz_input input = { data, size };
	struct mf_pages_process *process;
	struct mf_pages *pages;
	struct mf_error err;

	memset(&ring.control, 0, sizeof(ring.control));
	memset(&ring.consumer, 0, sizeof(ring.consumer));
	ring.control.abi = MASSIF_ABI;
	ring.control.page_bytes = 4096;
	ring.control.data_bytes = RING_BYTES;
	ring.seq = ring.time_ns = 0;
	while (input.left && add_record(&input))
		;
	if (mf_pages_attach(&options, &ring.control, &ring.consumer, ring.data, &pages, &err))
		return 0;
	mf_pages_drain(pages, &err);
	mf_pages_end(pages, &err);
	while ((process = mf_pages_next_ended(pages))) {
		write_profile(process->store);
		mf_pages_release(pages, process);
	}
	mf_pages_close(pages);
	return 0;
}
