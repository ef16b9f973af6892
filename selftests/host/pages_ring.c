// SPDX-License-Identifier: GPL-2.0
// Whatever the ring contains, and whatever file is used in place of the device, massif-ctl may print an error message
// but must not crash.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pages/pages.h"
#include "pages/ring.h"
#include "selftests/lib/pages_stream.h"

static const struct mf_pages_options options = {
	.model = {.max_snapshots = 100, .detailed_freq = 10, .time_unit = MF_TIME_BYTES},
	.depth = 30,
};

static const uint64_t start_pages[][2] = {{16, 10}, {64, 5}, {0, 0}};

/* Fills a stream with records of all types. */
static void fill(struct stream *stream, uint64_t position)
{
	stream_init(stream, position);
	stream_enrol(stream, 1, 1000);
	stream_exec(stream, 2, 1, 1000, "program");
	stream_resync(stream, 2, MASSIF_RESYNC_EXEC, 15, start_pages);
	for (uint32_t i = 0; i < 20; i++) {
		stream->capture = i + 1;
		stream_map(stream, 2, 100 + 4 * i, 3, 1 + i % 6, 15 + 3 * i);
		stream_name(stream, 2, 100 + 4 * i, 3, "/usr/bin/env");
		stream_stack(stream, 2, 0x1000 + i, 400);
		stream_unmap(stream, 2, 80 + 4 * i, 1, 15 + 3 * i);
	}
	stream->capture = 0;
	stream_fork(stream, 2, 3, 2000);
	stream_resync(stream, 3, MASSIF_RESYNC_FORK, 15, start_pages);
	stream_lost(stream, 0, 1, MASSIF_LOST_ROOM);
	stream_exit(stream, 3, 2000, 15);
	stream_end(stream, 3, 2000, MASSIF_END_EXIT);
	stream_exit(stream, 2, 1000, 75);
	stream_end(stream, 2, 1000, MASSIF_END_EXIT);
}

/* Reads everything as massif-ctl does, including what is left after an error. */
static int consume(struct stream *stream, struct mf_error *err)
{
	struct mf_pages_process *process;
	struct mf_pages *pages;
	int code = mf_pages_attach(&options, &stream->control, &stream->consumer, stream->data,
				   &pages, err);

	if (code)
		return code;
	code = mf_pages_drain(pages, err);
	mf_pages_end(pages, NULL);
	while ((process = mf_pages_next_ended(pages)))
		mf_pages_release(pages, process);
	mf_pages_close(pages);
	return code;
}

static struct stream *new_stream(void)
{
	struct stream *stream = NULL;

	if (posix_memalign((void **)&stream, 64, sizeof(*stream)))
		abort();
	return stream;
}

TEST(every_record_is_taken)
{
	struct stream *stream = new_stream();
	struct mf_error err = {""};

	for (uint64_t position = 0; position < STREAM_BYTES; position += 8 * 1021) {
		fill(stream, position);
		EXPECT_EQ(consume(stream, &err), 0);
		EXPECT_EQ(stream->consumer.tail, stream->control.head);
	}
	free(stream);
}

/* Records of unknown types come from a newer module; their size is used to skip them. */
TEST(unknown_types_are_skipped)
{
	struct stream *stream = new_stream();
	struct mf_error err = {""};

	stream_init(stream, 0);
	stream_enrol(stream, 1, 1000)->type = 4711;
	stream_enrol(stream, 1, 1000)->type = 0;
	EXPECT_EQ(consume(stream, &err), 0);
	EXPECT_EQ(stream->consumer.tail, stream->control.head);
	free(stream);
}

static void no_size(struct stream *stream)
{
	stream_enrol(stream, 1, 1000)->size = 0;
}

static void odd_size(struct stream *stream)
{
	stream_enrol(stream, 1, 1000)->size = 65;
}

static void size_beyond_head(struct stream *stream)
{
	stream_enrol(stream, 1, 1000)->size += 8;
}

static void huge_size(struct stream *stream)
{
	stream_enrol(stream, 1, 1000)->size = 0xfffffff8;
}

static void short_for_its_type(struct stream *stream)
{
	struct massif_record *record = stream_enrol(stream, 1, 1000);

	record->size -= 16;
	stream->control.head -= 16;
}

static void shorter_than_a_header(struct stream *stream)
{
	struct massif_record *record = stream_enrol(stream, 1, 1000);

	stream->control.head -= record->size - 16;
	record->size = 16;
}

static void pad_beyond_head(struct stream *stream)
{
	struct massif_record *record = stream_enrol(stream, 1, 1000);

	record->type = MASSIF_REC_PAD;
	record->size += 64;
}

static void head_too_far(struct stream *stream)
{
	stream->control.head = stream->consumer.tail + 2 * STREAM_BYTES;
}

static void head_behind(struct stream *stream)
{
	stream->consumer.tail = 4096;
	stream->control.head = 2048;
}

static void head_unaligned(struct stream *stream)
{
	stream_enrol(stream, 1, 1000);
	stream->control.head -= 4;
}

static void name_longer_than_record(struct stream *stream)
{
	((struct massif_rec_vma *)stream_name(stream, 1, 1, 1, "/x"))->name_len = 5000;
}

static void name_without_end(struct stream *stream)
{
	struct massif_rec_vma *name = (void *)stream_name(stream, 1, 1, 1, "/12345");

	name->name[6] = 'x';
}

static void name_with_nul(struct stream *stream)
{
	struct massif_rec_vma *name = (void *)stream_name(stream, 1, 1, 1, "/12345");

	name->name[2] = '\0';
}

static void registers_beyond_record(struct stream *stream)
{
	((struct massif_rec_stack *)stream_stack(stream, 1, 5, 64))->nr_regs = 0x20000000;
}

static void bytes_beyond_record(struct stream *stream)
{
	((struct massif_rec_stack *)stream_stack(stream, 1, 5, 64))->bytes = UINT64_MAX - 10;
}

static void bytes_over_registers(struct stream *stream)
{
	((struct massif_rec_stack *)stream_stack(stream, 1, 5, 64))->data_off = 16;
}

static void stack_around_the_end(struct stream *stream)
{
	((struct massif_rec_stack *)stream_stack(stream, 1, 5, 64))->sp = UINT64_MAX - 8;
}

static void program(struct stream *stream)
{
	stream_enrol(stream, 1, 1000);
	stream_exec(stream, 2, 1, 1000, "program");
}

static void mapping_of_nothing(struct stream *stream)
{
	program(stream);
	stream_map(stream, 2, 5, 0, MASSIF_MAP_MMAP, 0);
}

static void mapping_around_the_end(struct stream *stream)
{
	program(stream);
	stream_map(stream, 2, UINT64_MAX / 4096, 20, MASSIF_MAP_MMAP, 0);
}

static void mapping_of_the_kernel_s(struct stream *stream)
{
	program(stream);
	stream_map(stream, 2, 1ull << 44, 1, MASSIF_MAP_MMAP, 0);
}

static void mapping_of_half_of_all(struct stream *stream)
{
	program(stream);
	stream_map(stream, 2, 0, 1ull << 51, MASSIF_MAP_MMAP, 0);
}

static void listed_around_the_end(struct stream *stream)
{
	program(stream);
	stream_resync(stream, 2, MASSIF_RESYNC_EXEC, 20, (const uint64_t[][2]){ { UINT64_MAX / 4096, 20 }, { 0, 0 } });
}

static void mapping_unaligned(struct stream *stream)
{
	program(stream);
	((struct massif_rec_map *)stream_map(stream, 2, 5, 1, MASSIF_MAP_MMAP, 0))->addr++;
}

static void target_twice(struct stream *stream)
{
	program(stream);
	stream_fork(stream, 2, 3, 2000);
	stream_fork(stream, 2, 3, 2001);
}

static const struct {
	const char *name;
	void (*spoil)(struct stream *stream);
} spoilt[] = {
	{"no size", no_size},
	{"odd size", odd_size},
	{"size beyond head", size_beyond_head},
	{"huge size", huge_size},
	{"short for its type", short_for_its_type},
	{"shorter than a header", shorter_than_a_header},
	{"pad beyond head", pad_beyond_head},
	{"head too far", head_too_far},
	{"head behind", head_behind},
	{"head unaligned", head_unaligned},
	{"name longer than record", name_longer_than_record},
	{"name without end", name_without_end},
	{"name with NUL", name_with_nul},
	{"registers beyond record", registers_beyond_record},
	{"bytes beyond record", bytes_beyond_record},
	{"bytes over registers", bytes_over_registers},
	{"stack around the end", stack_around_the_end},
	{"mapping of nothing", mapping_of_nothing},
	{"mapping around the end", mapping_around_the_end},
	{"mapping of the kernel's", mapping_of_the_kernel_s},
	{"mapping of half of all", mapping_of_half_of_all},
	{"listed around the end", listed_around_the_end},
	{"mapping unaligned", mapping_unaligned},
	{"target twice", target_twice},
};

TEST(contradictions_are_refused_in_words)
{
	struct stream *stream = new_stream();

	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		struct mf_error err = {""};
		int code;

		stream_init(stream, 0);
		spoilt[i].spoil(stream);
		code = consume(stream, &err);
		EXPECT_EQ(code, -EPROTO)
		{
			TH_LOG("%s: %d", spoilt[i].name, code);
		}
		EXPECT_NE(strstr(err.text, "massif.ko"), NULL)
		{
			TH_LOG("%s: '%s'", spoilt[i].name, err.text);
		}
	}
	free(stream);
}

/* Any outcome is acceptable except a crash, a hang, or a read outside the ring. */
TEST(random_damage_does_no_harm)
{
	struct stream *stream = new_stream();
	int refused = 0;

	srandom(1);
	for (int round = 0; round < 3000; round++) {
		uint64_t position = (uint64_t)random() % STREAM_BYTES & ~7ull, used;
		struct mf_error err = {""};

		fill(stream, position);
		used = stream->control.head - position;
		for (int i = (int)random() % 6; i >= 0; i--) {
			uint64_t at = (position + (uint64_t)random() % used) % STREAM_BYTES;

			stream->data[at] =
				random() % 3 ? (uint8_t)random()
					     : (uint8_t)(stream->data[at] ^ 1u << random() % 8);
		}
		if (random() % 8 == 0)
			stream->control.head = position + ((uint64_t)random() % used & ~7ull);
		refused += consume(stream, &err) != 0;
	}
	EXPECT_GT(refused, 0);
	EXPECT_LT(refused, 3000);
	free(stream);
}

TEST(no_ring_is_refused)
{
	struct stream *stream = new_stream();
	struct mf_error err = {""};

	stream_init(stream, 0);
	stream->control.abi = 77;
	EXPECT_EQ(consume(stream, &err), -EINVAL);
	stream_init(stream, 0);
	stream->control.data_bytes = 12345;
	EXPECT_EQ(consume(stream, &err), -EINVAL);
	free(stream);
}

TEST(an_absent_device_says_what_to_do)
{
	struct mf_pages_options absent = options;
	struct mf_error err = {""};
	struct mf_pages *pages;

	absent.device = "/dev/massif-that-is-not-there";
	EXPECT_EQ(mf_pages_open(&absent, &pages, &err), -ENOENT);
	EXPECT_NE(strstr(err.text, absent.device), NULL);
	EXPECT_NE(strstr(err.text, "insmod"), NULL);
}

TEST(another_device_is_noticed)
{
	struct mf_pages_options null = options;
	struct mf_error err = {""};
	struct mf_pages *pages;

	null.device = "/dev/null";
	EXPECT_LT(mf_pages_open(&null, &pages, &err), 0);
	EXPECT_NE(strstr(err.text, "/dev/null"), NULL);
	EXPECT_NE(strstr(err.text, "massif.ko"), NULL);
}

TEST(a_forbidden_device_says_who_may)
{
	char path[] = "massif-forbidden-XXXXXX";
	struct mf_pages_options forbidden = options;
	struct mf_error err = {""};
	struct mf_pages *pages;
	int fd = mkstemp(path);

	ASSERT_GE(fd, 0);
	close(fd);
	chmod(path, 0);
	if (!access(path, R_OK) && (setegid(65534) || seteuid(65534)))
		SKIP(return, "root may open everything, and cannot become nobody");
	forbidden.device = path;
	EXPECT_EQ(mf_pages_open(&forbidden, &pages, &err), -EACCES);
	EXPECT_NE(strstr(err.text, "root"), NULL);
	EXPECT_NE(strstr(err.text, "group"), NULL);
	if (!geteuid() || !getuid())
		(void)!seteuid(0);
	unlink(path);
}

TEST_HARNESS_MAIN
