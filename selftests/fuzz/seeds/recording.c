// SPDX-License-Identifier: GPL-2.0
// Writes inputs for the fuzzer of recordings, as massif's own writer makes recordings, to a directory: recording DIRECTORY

#include <stdio.h>

#include "selftests/lib/full_recording.h"
#include "selftests/lib/section_list.h"

#define FILE_FOLLOWS 1u /* the rest of the input is the recording as it is; otherwise it is a list of sections */

/* The first two bytes of the inputs: what follows, and options of the reports. Each recording is an input with each of them. */
static const uint8_t heads[][2] = { { FILE_FOLLOWS, 0x00 }, { 0x00, 0x00 }, { 0xb6, 0x45 }, { 0x5a, 0xab } };

static bool write_seed(const char *directory, const char *name, size_t head, const struct mf_bytes *rest)
{
	char path[4096];
	FILE *out;
	bool worked;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s%zu", directory, name, head) >= sizeof(path))
		return false;
	out = fopen(path, "w");
	if (!out)
		return false;
	worked = fwrite(heads[head], sizeof(heads[head]), 1, out) == 1;
	worked &= fwrite(rest->data, 1, rest->size, out) == rest->size;
	return !fclose(out) && worked;
}

int main(int argc, char **argv)
{
	bool worked = argc == 2;

	for (enum full_recording which = 0; which < FULL_RECORDINGS && worked; which++) {
		struct mf_bytes file = { 0 }, list = { 0 };

		worked = full_recording_write(which, &file) && section_list_open(&file, &list);
		for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]) && worked; i++)
			worked = write_seed(argv[1], full_recording_names[which], i,
					    heads[i][0] & FILE_FOLLOWS ? &file : &list);
		mf_bytes_deinit(&file);
		mf_bytes_deinit(&list);
	}
	if (!worked)
		fprintf(stderr, "cannot write inputs for the fuzzer of recordings to '%s'\n", argc == 2 ? argv[1] : "");
	return !worked;
}
