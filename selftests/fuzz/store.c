// SPDX-License-Identifier: GPL-2.0
// Fuzzes the code with which the aggregator reads a session that the program's stray writes have damaged.
//
// An input is a list of patches to a valid session: region, offset, length, bytes.

#include "selftests/fuzz/fuzz.h"

#include <stdio.h>

#include "model/heap.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"
#include "report/collect.h"
#include "report/massif_file.h"
#include "symbols/symbolizer.h"

static const struct mf_model_options model = {
	.peak_inaccuracy = 1,
	.max_snapshots = 10,
	.detailed_freq = 2,
	.time_unit = MF_TIME_BYTES,
	.heap_admin = 8,
	.alignment = 16,
	.logs_steps = MF_LOG_SNAPSHOTS,
};

static void fill(struct mf_store *store)
{
	static const char *const paths[] = { "/bin/true", "/lib/libexample.so", "[vdso]" };
	uint32_t state = 31;

	mf_model_init(store, &model);
	mf_model_attempt(store, 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct mf_object object = {
			.kind = i < 2 ? MF_OBJECT_FILE : MF_OBJECT_VDSO,
			.start = i << 20,
			.end = (i + 1) << 20,
			.path = paths[i],
		};

		mf_objects_add(store, &object);
	}
	for (uint64_t i = 0; i < 60; i++) {
		struct mf_frame frames[6];
		uint32_t n = 1 + i % 6;

		for (uint32_t j = 0; j < n; j++) {
			state = state * 1664525 + 1013904223;
			frames[j] = (struct mf_frame){ .pc = 0x1000 + (state >> 20) % 3, .object = (state >> 24) % 4 };
		}
		mf_heap_alloc(store, 0x10000 + i * 16, i, mf_trie_insert(store, frames, n), 0);
		if (i % 3)
			mf_heap_free(store, 0x10000 + i / 2 * 16, 0);
	}
}

static void patch(const struct mf_store *store, struct fuzz_input *input)
{
	while (input->left) {
		uint8_t region = fuzz_u8(input) % MF_REGION_COUNT, length = fuzz_u8(input) % 32;
		uint64_t offset = fuzz_u16(input);
		struct mf_store_header *header = store->header;

		/*
		 * Do not overwrite the table of regions with fuzz input: massif-ctl writes that table only once, and
		 * mf_store_attach() rejects an invalid one.
		 */
		if (region == MF_REGION_HEADER &&
		    offset < offsetof(struct mf_store_header, regions) + sizeof(header->regions))
			offset += offsetof(struct mf_store_header, regions) + sizeof(header->regions);
		if (store->regions[region] && offset + length <= store->sizes[region])
			fuzz_take(input, (char *)store->regions[region] + offset, length);
	}
}

static void print(const struct mf_profile *profile, FILE *out)
{
	struct mf_report_options options;
	struct mf_symbolizer *symbolizer;
	struct mf_error err;

	mf_report_options_init(&options);
	if (mf_symbolizer_create(profile->objects, profile->n_objects, &(struct mf_symbolizer_options){ .unconfined = true },
				 &symbolizer, &err))
		return;
	mf_massif_file_write(out, profile, &options, symbolizer, &err);
	mf_symbolizer_destroy(symbolizer);
}

static void read_all(const struct mf_store *store, FILE *out)
{
	struct mf_collection collection = { 0 };
	uint32_t n_steps;
	struct mf_error err;

	mf_log_view(store, &n_steps);
	for (int way = 0; way < 4; way++) {
		int ret = way < 2 ? mf_collect(store, (struct mf_end){ .rule = way ? MF_END_TREE : MF_END_PEAK, .now = 1000 },
					       &collection, &err) :
				    mf_collect_present(store, 1000, way == 3, &collection, &err);

		if (!ret) {
			/*
			 * The aggregator does not read the profile's description, command and time unit from the
			 * session, so set them here.
			 */
			collection.profile.desc = collection.profile.cmd = "";
			collection.profile.time_unit = MF_TIME_BYTES;
			print(&collection.profile, out);
		}
		mf_collection_release(&collection);
		memset(&collection, 0, sizeof(collection));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct mf_store store;
	struct mf_error err;
	FILE *out = fopen("/dev/null", "w");

	if (out && !mf_store_create(&store, 1ull << 30, NULL, &err)) {
		fill(&store);
		patch(&store, &input);
		read_all(&store, out);
		mf_store_detach(&store);
	}
	if (out)
		fclose(out);
	return 0;
}
