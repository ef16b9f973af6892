// SPDX-License-Identifier: GPL-2.0
// Fuzzes the part of pages mode that reads the ring, using records that the module would never write.
//
// An input is a byte that chooses options, and a list of records. Each record consists of a four-byte recipe followed by
// the record's words, most of which are encoded in one byte. Most records are well-formed and agree with those before
// them, so that the code behind the checks is reached. The headers of the others are raw bytes taken from the input.

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
	struct massif_rec_resync resync; /* the last RESYNC_BEGIN */
	uint64_t resync_end;		 /* end of the last VMA after that */
	uint32_t n_vmas;		 /* number of VMAs after that */
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

/* A place in records of one type. */
struct place {
	uint32_t type;
	size_t offset;
};

/* Words that consist of two 32-bit fields. */
static const struct place pairs[] = {
	{ MASSIF_REC_LOST, offsetof(struct massif_rec_lost, reason) },
	{ MASSIF_REC_FORK, offsetof(struct massif_rec_fork, child) },
	{ MASSIF_REC_EXEC, offsetof(struct massif_rec_exec, old_target) },
	{ MASSIF_REC_END, offsetof(struct massif_rec_end, tgid) },
	{ MASSIF_REC_RESYNC_BEGIN, offsetof(struct massif_rec_resync, reason) },
	{ MASSIF_REC_MAP, offsetof(struct massif_rec_map, kind) },
	{ MASSIF_REC_VMA, offsetof(struct massif_rec_vma, prot) },
	{ MASSIF_REC_NAME, offsetof(struct massif_rec_vma, prot) },
	{ MASSIF_REC_RESIDENT, offsetof(struct massif_rec_resident, change) },
	{ MASSIF_REC_RESIDENT, offsetof(struct massif_rec_resident, change[MASSIF_RSS_SHMEM]) },
};

/* Addresses and lengths. */
static const struct place addresses[] = {
	{ MASSIF_REC_RESYNC_BEGIN, offsetof(struct massif_rec_resync, start) },
	{ MASSIF_REC_RESYNC_BEGIN, offsetof(struct massif_rec_resync, end) },
	{ MASSIF_REC_VMA, offsetof(struct massif_rec_vma, addr) },
	{ MASSIF_REC_VMA, offsetof(struct massif_rec_vma, len) },
	{ MASSIF_REC_MAP, offsetof(struct massif_rec_map, addr) },
	{ MASSIF_REC_MAP, offsetof(struct massif_rec_map, len) },
	{ MASSIF_REC_UNMAP, offsetof(struct massif_rec_map, addr) },
	{ MASSIF_REC_UNMAP, offsetof(struct massif_rec_map, len) },
	{ MASSIF_REC_NAME, offsetof(struct massif_rec_vma, addr) },
	{ MASSIF_REC_NAME, offsetof(struct massif_rec_vma, len) },
	{ MASSIF_REC_RESIDENT, offsetof(struct massif_rec_resident, addr) },
	{ MASSIF_REC_RESIDENT, offsetof(struct massif_rec_resident, len) },
	{ MASSIF_REC_MOVE, offsetof(struct massif_rec_move, addr) },
	{ MASSIF_REC_MOVE, offsetof(struct massif_rec_move, len) },
	{ MASSIF_REC_MOVE, offsetof(struct massif_rec_move, from) },
};

/* The four bytes at the start of each record in the fuzz input, which determine how the record in the ring is built. */
struct recipe {
	uint8_t type;	/* type of the record; if this byte is 0x80 or more, the record's header is raw input */
	uint8_t target; /* low four bits: number of the target; high four bits: id of the stack */
	uint8_t flags;
	/*
	 * the low six bits give the number of words by which the record is longer than the minimum for its type; if
	 * bit 6 is set, the record need not agree with those before it; if bit 7 is set, a sequence number is skipped
	 */
	uint8_t more;
};

enum { MORE_WORDS = 0x3f, MORE_FREE = 0x40, MORE_SKIPS = 0x80 };

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

/* Makes pages of small numbers, and two fields of a small number where a word has two. */
static void spread_words(struct massif_record *record)
{
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		uint64_t *word = (void *)((char *)record + addresses[i].offset);

		if (addresses[i].type == record->type && *word < 0x60)
			*word *= 4096;
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		uint32_t *fields = (void *)((char *)record + pairs[i].offset);

		if (pairs[i].type == record->type && fields[0] < 0x60 && !fields[1]) {
			fields[1] = fields[0] >> 4;
			fields[0] &= 15;
		}
	}
}

static void set_name(struct massif_rec_vma *vma)
{
	const char *name = names[vma->ino % (sizeof(names) / sizeof(names[0]))];

	vma->name_len = (uint32_t)strlen(name);
	memcpy(vma->name, name, vma->name_len + 1);
	if (*name == '/')
		vma->prot |= MASSIF_PROT_FILE;
}

/* The module lists mappings in the order of their addresses. */
static void follow_in_list(struct massif_rec_vma *vma)
{
	if (vma->addr < ring.resync_end)
		vma->addr = ring.resync_end;
	ring.resync_end = vma->addr + vma->len;
	ring.n_vmas++;
}

static void begin_list(struct massif_rec_resync *begin)
{
	if (!begin->end)
		begin->end = ~0ull;
	begin->count = 100;
	ring.resync = *begin;
	ring.resync_end = begin->start;
	ring.n_vmas = 0;
}

static void end_list(struct massif_rec_resync *end)
{
	end->start = ring.resync.start;
	end->end = ring.resync.end;
	end->reason = ring.resync.reason;
	end->part = ring.resync.part;
	end->count = ring.n_vmas;
}

/* Makes @record agree with what came before. */
static void agree(struct massif_record *record)
{
	switch (record->type) {
	case MASSIF_REC_RESYNC_BEGIN:
		begin_list((void *)record);
		break;
	case MASSIF_REC_VMA:
		follow_in_list((void *)record);
		break;
	case MASSIF_REC_RESYNC_END:
		end_list((void *)record);
		break;
	default:
		break;
	}
}

/* Makes the lengths in @record consistent with its size and its contents. */
static void put_right(struct massif_record *record)
{
	struct massif_rec_stack *stack = (void *)record;
	struct massif_rec_args *args = (void *)record;

	switch (record->type) {
	case MASSIF_REC_VMA:
	case MASSIF_REC_NAME:
		set_name((void *)record);
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
	size += 8u * (recipe.more & MORE_WORDS);
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
	ring.seq += recipe.more & MORE_SKIPS ? 2 : 1;
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
	if (recipe.type >= 0x80) {
		fuzz_take(input, record, sizeof(*record));
	} else {
		spread_words(record);
		put_right(record);
		if (!(recipe.more & MORE_FREE))
			agree(record);
	}
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

static bool skips_some(void *data, const char *path, const char *args, size_t n_bytes)
{
	size_t sum = strlen(path);

	for (size_t i = 0; i < n_bytes; i++)
		sum += (unsigned char)args[i];
	return sum % 4 == 0;
}

static struct mf_pages_options options_of(uint8_t choice)
{
	static const char *const known_modes[] = { "off", "verify", "on", "on" };
	static const char *const functions[] = { "main", "__vdso_clock_gettime" };
	static const struct mf_symbolizer_options names_of = { .unconfined = true };
	static struct mf_report_options filter;

	setenv("MASSIF_KNOWN_STACKS", known_modes[choice >> 1 & 3], 1);
	mf_report_options_init(&filter);
	filter.ignore_fns = (struct mf_strings){ .items = functions, .count = sizeof(functions) / sizeof(functions[0]) };
	return (struct mf_pages_options){
		.model = { .time_unit = choice & 0x20 ? MF_TIME_BYTES : MF_TIME_MS, .max_snapshots = 10, .detailed_freq = 2,
			   .alignment = 16 },
		.what = choice & 1 ? choice & 0x40 ? MF_PAGES_BOTH : MF_PAGES_RESIDENT : MF_PAGES_VIRTUAL,
		.depth = 30,
		.traces_children = choice & 8,
		.skips = choice & 8 ? skips_some : NULL,
		.filter = choice & 0x10 ? &filter : NULL,
		.names = &names_of,
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const struct mf_pages_options options = options_of(fuzz_u8(&input));
	struct mf_pages_process *process;
	struct mf_pages *pages;
	struct mf_error err;

	memset(&ring, 0, offsetof(typeof(ring), data));
	memset(&ring.seq, 0, sizeof(ring) - offsetof(typeof(ring), seq));
	ring.control.abi = MASSIF_ABI;
	ring.control.page_bytes = 4096;
	ring.control.data_bytes = RING_BYTES;
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
