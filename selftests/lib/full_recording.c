// SPDX-License-Identifier: GPL-2.0
// Writes recordings of made-up processes that together have every section.

#include "selftests/lib/full_recording.h"

#include <string.h>

#include "recording/section.h"
#include "recording/writer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PAGE 4096ull

enum { NOWHERE, PROGRAM, C_LIBRARY, CXX_LIBRARY, LOADER, UNLOADED, HEAP, KIND };

static const struct mf_object objects[] = {
	[NOWHERE] = { .kind = MF_OBJECT_UNKNOWN },
	[PROGRAM] = { .kind = MF_OBJECT_FILE, .start = 0x1000, .end = 0x9000, .path = "/p",
		      .build_id = "abcd", .build_id_size = 4 },
	[C_LIBRARY] = { .kind = MF_OBJECT_FILE, .start = 0xa000, .end = 0xb000, .path = "/lib/libc.so.6", .inode = 3 },
	[CXX_LIBRARY] = { .kind = MF_OBJECT_FILE, .start = 0xb000, .end = 0xc000, .path = "/lib/libstdc++.so.6" },
	[LOADER] = { .kind = MF_OBJECT_FILE, .start = 0xc000, .end = 0xd000, .path = "/lib/ld-linux-x86-64.so.2" },
	[UNLOADED] = { .kind = MF_OBJECT_FILE, .start = 0xd000, .end = 0xe000, .bias = 0xd000, .path = "/l.so",
		       .unloaded = true },
	[HEAP] = { .kind = MF_OBJECT_NOTE, .path = "[heap]" },
	[KIND] = { .kind = MF_OBJECT_NOTE, .path = "[anonymous pages]" },
};

enum { MAIN, WORK, GROW, BUFFER, TLS, SORT, OPERATOR, START_UP, PLUGIN, RUST, JIT, IN_HEAP, ANONYMOUS, FRAMES };

static const struct mf_frame frames[FRAMES] = {
	[MAIN] = { 0x1010, PROGRAM },	    [WORK] = { 0x1020, PROGRAM },      [GROW] = { 0x1030, PROGRAM },
	[BUFFER] = { 0xa010, C_LIBRARY },   [TLS] = { 0xc010, LOADER },	       [SORT] = { 0xa020, C_LIBRARY },
	[OPERATOR] = { 0xb010, CXX_LIBRARY }, [START_UP] = { 0xc020, LOADER }, [PLUGIN] = { 0xd010, UNLOADED },
	[RUST] = { 0x1040, PROGRAM },	    [JIT] = { 0x77, NOWHERE },	       [IN_HEAP] = { 0, HEAP },
	[ANONYMOUS] = { 0, KIND },
};

/* The names of each frame; inlined calls first. Those without a function are not known. */
static const struct mf_location names[FRAMES][2] = {
	[MAIN] = { { .function = "main", .directory = "/src", .file = "p.c", .line = 3, .offset = 16 } },
	[WORK] = { { .function = "in", .file = "p.c", .line = 4 },
		   { .function = "f(int)", .file = "p.c", .line = 9, .offset = 7 } },
	[GROW] = { { .function = "void std::vector<int>::push_back(int const&)", .directory = "/usr/include/c++/12/bits",
		     .file = "stl_vector.h", .line = 1287 } },
	[BUFFER] = { { .function = "_IO_file_doallocate@@GLIBC_2.2.5", .offset = 1 } },
	[TLS] = { { .function = "_dl_allocate_tls" } },
	[SORT] = { { .function = "qsort", .file = "msort.c", .line = 300 } },
	[OPERATOR] = { { .function = "operator new(unsigned long)" } },
	[START_UP] = { { .function = "_dl_init" } },
	[RUST] = { { .function = "alloc::vec::Vec<T>::push", .directory = "/rustc/1/library/alloc/src", .file = "vec.rs" } },
};

#define STACK_MOST 4

/* The stacks as numbers of frames, the innermost first, ending with -1. */
static const int stacks[][STACK_MOST + 1] = {
	{ -1 },			    { WORK, MAIN, -1 },	      { OPERATOR, GROW, WORK, MAIN, -1 }, { BUFFER, SORT, MAIN, -1 },
	{ OPERATOR, START_UP, -1 }   , { TLS, PLUGIN, MAIN, -1 }, { RUST, JIT, -1 },		  { IN_HEAP, -1 },
};

#define CONTEXTS COUNT(stacks)

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *to)
{
	uint32_t n = 0;

	for (const int *frame = stacks[number]; *frame >= 0; frame++)
		to[n++] = frames[*frame];
	return n;
}

/* The first frame of a stack from massif.ko is not a call: it says what kind of page was touched. */
static uint32_t read_touching(const void *source, uint32_t number, struct mf_frame *to)
{
	to[0] = frames[ANONYMOUS];
	return read_context(source, number, to + 1) + 1;
}

static const struct mf_leaf leaves[] = {
	{ 0, 1, 10 },	 { 1, 5, 100 },		{ 2, 2, 200 }, { 3, 1, 1024 },
	{ 4, 1, 72704 }, { 5, UINT32_MAX, 50 }, { 6, 7, 7 },   { 7, 1, 4096 },
};

static const struct mf_profile_snapshot snapshots[] = {
	{ .time = 0 },
	{ .time = 5, .heap_bytes = 310, .extra_bytes = 24, .tree = MF_TREE_DETAILED, .leaves = leaves,
	  .n_leaves = 3, .n_seen = 3, .has_blocks = true },
	{ .time = 9, .heap_bytes = 78191, .extra_bytes = 40, .stack_bytes = 8, .tree = MF_TREE_PEAK, .leaves = leaves,
	  .n_leaves = CONTEXTS, .n_seen = CONTEXTS, .has_blocks = true },
};

static const struct mf_profile_snapshot end = {
	.time = 12, .heap_bytes = 77887, .extra_bytes = 8, .tree = MF_TREE_DETAILED, .leaves = leaves + 3, .n_leaves = 5,
	.n_seen = CONTEXTS, .has_blocks = true,
};

static const uint8_t functions[CONTEXTS] = {
	MF_FUNCTION_UNKNOWN, MF_FUNCTION_MALLOC, MF_FUNCTION_NEW, MF_FUNCTION_CALLOC, MF_FUNCTION_ALIGNED, MF_FUNCTION_REALLOC,
	MF_FUNCTION_OWN, MF_FUNCTION_REQUEST,
};

static const struct mf_counts counts[CONTEXTS] = {
	{ 1, 10, 0, 1 },    { 300, 1000, 200, 5 }, { 20, 300, 1, 2 }, { 1, 1024, 0, 1 },
	{ 1, 72704, 0, 1 }, { 9, 50, 3, 9 },	   { 7, 7, 0, 7 },    { 1, 4096, 0, 1 },
};

static const struct mf_size_class sizes[MF_SIZE_CLASSES] = { [0] = { 1, 1 }, [7] = { 33, 1606 }, [17] = { 1, 72704 } };

static const struct mf_class_count classes[] = { { 0, 1 }, { 4, 9 }, { 7, 2 }, { 47, 3 } };

static const struct mf_context_details details[CONTEXTS] = {
	[1] = { 77, classes, classes, classes, 3, 2, 4 },
	[2] = { UINT64_MAX, classes + 1, classes + 2, classes + 1, 3, 2, 1 },
	[3] = { 1024, classes + 2, classes, classes, 1, 0, 0 },
};

static const struct mf_thread_info threads[] = { { 0, "" }, { 7, "main" }, { 8, "worker" } };
static const uint32_t context_threads[CONTEXTS] = { 0, 1, 2, 1, 1, 2, 0, 2 };
static const struct mf_thread_total totals[] = { { { 0, "" }, { 1, 2, 0 } }, { { 7, "main" }, { 300, 70000, 200 } } };

/* A sample like all others, but for when and why it was taken. */
static struct mf_residency_sample sample_of(int64_t at, uint32_t reasons)
{
	return (struct mf_residency_sample){
		.time_ms = 10 * (uint64_t)at, .took_us = 90, .time = at, .reasons = reasons, .mapped = 999 * PAGE,
		.swapped = 2 * PAGE, .pss = 60 * PAGE, .huge = 32 * PAGE, .untouched = PAGE, .heap_swapped = 1,
		.shared = 5 * PAGE, .shared_heap = PAGE, .huge_zeros = 16 * PAGE,
		.bands = {
			[MF_BAND_LIVE] = 30 * PAGE, [MF_BAND_OVERHEAD] = PAGE / 2, [MF_BAND_FREE_PARTS] = 3 * PAGE / 2,
			[MF_BAND_FREE_PAGES] = 4 * PAGE, [MF_BAND_ANONYMOUS] = 20 * PAGE, [MF_BAND_STACKS] = 3 * PAGE,
			[MF_BAND_FILES] = 9 * PAGE, [MF_BAND_SHARED] = 2 * PAGE, [MF_BAND_MASSIF] = 7 * PAGE,
			[MF_BAND_OTHER] = PAGE,
		},
	};
}

static struct mf_residency_site sites[] = {
	{ 1, 100, 0, PAGE, 50, 50, 10 }, { 2, 200, 150, PAGE / 2, 0, 0, 0 }, { 4, 72704, PAGE, 0, PAGE, 16 * PAGE, 8 * PAGE },
};

static struct mf_residency_area areas[] = {
	{ MF_BAND_LIVE, (char *)"[heap]", 0x5000000, 1, 99 * PAGE, 36 * PAGE, 30 * PAGE, PAGE, 0, 32 * PAGE, 1, 0 },
	{ MF_BAND_ANONYMOUS, (char *)"", 0x7000000, 1, 40 * PAGE, 15 * PAGE, 15 * PAGE, 0, 0, 0, 1, 0 },
	{ MF_BAND_ANONYMOUS, (char *)"", 0, 0, 9 * PAGE, 5 * PAGE, 5 * PAGE, 0, 0, 0, 4, 0 },
	{ MF_BAND_STACKS, (char *)"thread 8 (worker)", 0x8000000, 2, 20 * PAGE, 3 * PAGE, 3 * PAGE, PAGE, 0, 0, 1, 2 },
	{ MF_BAND_FILES, (char *)"/lib/libc.so.6", 0, 4, 60 * PAGE, 9 * PAGE, PAGE, 0, 2 * PAGE, 0, 1, 0 },
	{ MF_BAND_SHARED, (char *)"/dev/shm/s", 0x9000000, 1, 4 * PAGE, 2 * PAGE, PAGE, 0, 0, 0, 1, 0 },
};

static struct mf_residency_touch touches[] = {
	{ MF_BAND_LIVE, 1, 20 * PAGE }, { MF_BAND_LIVE, 2, 10 * PAGE }, { MF_BAND_ANONYMOUS, 1, 5 * PAGE },
	{ MF_BAND_ANONYMOUS, 3, 15 * PAGE }, { MF_BAND_STACKS, 5, 3 * PAGE }, { MF_BAND_FILES, 4, 9 * PAGE },
	{ MF_BAND_SHARED, 6, 2 * PAGE }, { MF_BAND_MASSIF, 0, 7 * PAGE },
};

/* Without @is_touched: as without massif.ko. */
static struct mf_residency_detail detail_of(int64_t at, uint32_t reasons, bool is_touched)
{
	return (struct mf_residency_detail){
		.sample = sample_of(at, reasons), .of = at, .fillings = { PAGE, 2 * PAGE, 3 * PAGE, 4 * PAGE, 26 * PAGE },
		.sites = sites, .n_sites = COUNT(sites), .areas = areas, .n_areas = COUNT(areas), .touches = touches,
		.n_touches = is_touched ? COUNT(touches) : 0, .counted = is_touched ? 73 * PAGE : 0,
	};
}

/* What a process has beside what all have. */
struct parts {
	bool is_pages, with_threads, with_samples, with_touches;
};

static struct mf_facts facts_of(const struct parts *parts, uint64_t pid)
{
	return (struct mf_facts){
		.pid = pid, .parent = pid > 7 ? 7 : 0, .name = "p", .cmd = "p x", .desc = "(none)",
		.time_unit = MF_TIME_INSTRUCTIONS,
		.pages = parts->is_pages, .what = parts->is_pages ? MF_PAGES_RESIDENT : 0, .written_s = 3, .took_ms = 100,
		.end_time = 12, .end_heap = end.heap_bytes, .end_extra = end.extra_bytes, .allocations = 340, .frees = 300,
		.reallocations = 9, .lost = 2, .ended = 1, .version = "0.1", .kernel = "6.1 x86_64",
		.suppressions = "# known\nleak:^main$\n{\n  n\n  Memcheck:Leak\n  match-leak-kinds: all\n  fun:malloc\n  ...\n"
				"  fun:f*\n  obj:*/p\n  src:p.c:3\n}\n",
	};
}

static void fill(struct mf_profile *profile, const struct parts *parts)
{
	if (parts->is_pages) {
		profile->pages = true;
		profile->what = MF_PAGES_RESIDENT;
		return;
	}
	profile->functions = functions;
	profile->counts = counts;
	profile->sizes = sizes;
	profile->details = details;
	profile->details_lost = 1;
	profile->has_ages = true;
	if (parts->with_threads) {
		profile->threads = threads;
		profile->n_threads = COUNT(threads);
		profile->context_threads = context_threads;
	} else {
		profile->thread_totals = totals;
		profile->n_thread_totals = COUNT(totals);
	}
}

static bool add_process(struct mf_bytes *file, const struct parts *parts, uint64_t pid, struct mf_symbolizer *symbolizer)
{
	const struct mf_facts facts = facts_of(parts, pid);
	struct mf_residency_sample samples[] = {
		sample_of(5, MF_SAMPLE_DETAILED), sample_of(9, MF_SAMPLE_PEAK), sample_of(12, MF_SAMPLE_END),
	};
	struct mf_residency_detail moments[] = {
		detail_of(5, MF_SAMPLE_DETAILED, parts->with_touches), detail_of(9, MF_SAMPLE_PEAK, parts->with_touches),
	};
	const struct mf_residency residency = {
		.samples = samples, .n_samples = COUNT(samples), .peak = detail_of(9, MF_SAMPLE_PEAK, parts->with_touches),
		.last = detail_of(12, MF_SAMPLE_END, parts->with_touches), .moments = moments, .n_moments = COUNT(moments),
		.peak_rss = 90 * PAGE,
	};
	const struct mf_profile_snapshot resident = {
		.heap_bytes = 80 * PAGE, .tree = MF_TREE_PEAK, .leaves = leaves, .n_leaves = CONTEXTS, .n_seen = CONTEXTS,
	};
	const struct mf_profile touched = {
		.objects = objects, .n_objects = COUNT(objects), .n_contexts = CONTEXTS, .read_context = read_touching,
		.snapshots = &resident, .n_snapshots = 1,
	};
	const struct mf_first_touches first = {
		.profile = &touched, .peak = 85 * PAGE, .peak_ms = 91, .lost = 1, .end = &resident, .symbolizer = symbolizer,
	};
	struct mf_profile profile = {
		.objects = objects, .n_objects = COUNT(objects), .n_contexts = CONTEXTS, .read_context = read_context,
		.snapshots = snapshots, .n_snapshots = COUNT(snapshots), .residency = parts->with_samples ? &residency : NULL,
		.touches = parts->with_touches ? &first : NULL,
	};

	fill(&profile, parts);
	return !mf_recording_add(file, &facts, &profile, &end, symbolizer, NULL);
}

const char *const full_recording_names[FULL_RECORDINGS] = {
	[FULL_RECORDING_HEAP] = "heap",
	[FULL_RECORDING_TOUCHES] = "touches",
	[FULL_RECORDING_PAGES] = "pages",
	[FULL_RECORDING_FAMILY] = "family",
};

/* The processes of each recording; PAGES is the only one without the heap. */
static const struct {
	size_t n;
	struct parts parts[3];
} recordings[FULL_RECORDINGS] = {
	[FULL_RECORDING_HEAP] = { 1, { { .with_samples = true } } },
	[FULL_RECORDING_TOUCHES] = { 1, { { .with_threads = true, .with_samples = true, .with_touches = true } } },
	[FULL_RECORDING_PAGES] = { 1, { { .is_pages = true } } },
	[FULL_RECORDING_FAMILY] = { 3, { { .with_samples = true, .with_touches = true }, { .with_samples = true }, { 0 } } },
};

bool full_recording_write(enum full_recording which, struct mf_bytes *file)
{
	const struct mf_symbolizer_options closed = { .closed = true };
	struct mf_location given[FRAMES][2];
	struct mf_symbolizer *symbolizer;
	bool worked = true;

	if (mf_symbolizer_create(objects, COUNT(objects), &closed, &symbolizer, NULL))
		return false;
	memcpy(given, names, sizeof(given));
	for (size_t i = 0; i < FRAMES; i++)
		worked &= mf_symbolizer_give(symbolizer, frames[i], given[i], given[i][1].function ? 2 : 1);
	mf_section_add_magic(file);
	for (size_t i = 0; i < recordings[which].n && worked; i++)
		worked = add_process(file, &recordings[which].parts[i], 7 + i, symbolizer);
	mf_symbolizer_destroy(symbolizer);
	return worked && !file->failed;
}
