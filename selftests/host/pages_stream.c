// SPDX-License-Identifier: GPL-2.0
// Builds profiles from records: assignment to processes, order, stacks, and lost records.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"
#include "pages/pages.h"
#include "selftests/lib/pages_stream.h"

#define MAIN  1000 /* pid of the launched process */
#define CHILD 2000

static const struct mf_pages_options options = {
	.model =
		{
			.peak_inaccuracy = 0,
			.max_snapshots = 100,
			.detailed_freq = 1,
			.time_unit = MF_TIME_BYTES,
			.alignment = 16,
		},
	.depth = 30,
};

static const uint64_t start_pages[][2] = {{16, 10}, {64, 5}, {0, 0}};

FIXTURE(stream)
{
	struct stream stream;
	struct mf_pages *pages;
	struct mf_error err;
};

/* The launcher has enrolled as target 1 and then executed the program, which is target 2 and has 15 pages. */
FIXTURE_SETUP(stream)
{
	memset(&self->err, 0, sizeof(self->err));
	stream_init(&self->stream, 0);
	ASSERT_EQ(mf_pages_attach(&options, &self->stream.control, &self->stream.consumer,
				  self->stream.data, &self->pages, &self->err),
		  0);
	stream_enrol(&self->stream, 1, MAIN);
	stream_resync(&self->stream, 1, MASSIF_RESYNC_ENROL, 15, start_pages);
	stream_map(&self->stream, 1, 1, 1, MASSIF_MAP_MMAP, 16);
	stream_exit(&self->stream, 1, MAIN, 16);
	stream_exec(&self->stream, 2, 1, MAIN, "program");
	stream_resync(&self->stream, 2, MASSIF_RESYNC_EXEC, 15, start_pages);
}

FIXTURE_TEARDOWN(stream)
{
	mf_pages_close(self->pages);
}

static int drain(FIXTURE_DATA(stream) * self)
{
	return mf_pages_drain(self->pages, &self->err);
}

static const struct mf_pages_process *process_of(FIXTURE_DATA(stream) * self, pid_t pid)
{
	for (size_t i = 0; i < mf_pages_count(self->pages); i++)
		if (mf_pages_process(self->pages, i)->pid == pid)
			return mf_pages_process(self->pages, i);
	return NULL;
}

/* Returns the live bytes of the stack whose only frame has the address @pc or, if @pc is 0, the text @words. */
static uint64_t bytes_of(const struct mf_pages_process *process, uint64_t pc, const char *words)
{
	const struct mf_store *store = process->store;
	uint64_t sum = 0, bytes;

	for (uint32_t i = MF_CONTEXT_FIRST; i < store->header->n_contexts; i++) {
		struct mf_object object;
		struct mf_frame frame;

		if (!mf_trie_frames(store, i, &frame, 1) || frame.pc != pc)
			continue;
		mf_objects_read(store, frame.object, &object);
		mf_trie_sum(store, i, 1, &bytes);
		if (pc || (object.path && !strcmp(object.path, words)))
			sum += bytes;
	}
	return sum;
}

TEST_F(stream, a_life)
{
	struct mf_pages_process *process;

	self->stream.capture = 7;
	stream_map(&self->stream, 2, 100, 4, MASSIF_MAP_MMAP, 19);
	stream_name(&self->stream, 2, 100, 4, "/some/file");
	stream_stack(&self->stream, 2, 0x1234, 64);
	stream_unmap(&self->stream, 2, 101, 1, 18);
	stream_exit(&self->stream, 2, MAIN, 18);
	ASSERT_EQ(drain(self), 0);
	/*
	 * An EXIT record does not end the profile, because an exec may have caused it. The profile ends with the END
	 * record.
	 */
	ASSERT_EQ(mf_pages_next_ended(self->pages), NULL);
	stream_end(&self->stream, 2, MAIN, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);

	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->pid, MAIN);
	EXPECT_TRUE(process->launched);
	EXPECT_STREQ(process->comm, "program");
	EXPECT_EQ(process->state, MF_PAGES_EXITED);
	EXPECT_TRUE(process->exact);
	EXPECT_EQ(process->model_pages, 18);
	EXPECT_EQ(process->kernel_pages, 18);
	EXPECT_EQ(process->events, 2);
	EXPECT_EQ(process->no_stack, 0);
	EXPECT_EQ(bytes_of(process, 0x1234, NULL), 3 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0, "[anon]"), 15 * STREAM_PAGE);
	/* The profile starts at the exec. The time of each record in milliseconds equals its sequence number. */
	EXPECT_EQ(process->start_ns, 8000000);
	EXPECT_EQ(mf_pages_next_ended(self->pages), NULL);
	mf_pages_release(self->pages, process);
	EXPECT_EQ(mf_pages_count(self->pages), 0);
}

TEST_F(stream, a_late_stack_holds_back_its_own_process_only)
{
	static const uint64_t child_pages[][2] = {{16, 10}, {64, 5}, {0, 0}};
	const struct mf_pages_process *parent, *child;

	stream_fork(&self->stream, 2, 3, CHILD);
	stream_resync(&self->stream, 3, MASSIF_RESYNC_FORK, 15, child_pages);
	self->stream.capture = 1; /* thread 100 is in a long system call */
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	self->stream.capture = 2; /* a system call of thread 101 */
	self->stream.tid = 101;
	stream_map(&self->stream, 2, 110, 2, MASSIF_MAP_MMAP, 18);
	stream_stack(&self->stream, 2, 0x2222, 8);
	self->stream.capture = 3;
	self->stream.tid = 200;
	stream_map(&self->stream, 3, 100, 3, MASSIF_MAP_MMAP, 18);
	stream_stack(&self->stream, 3, 0x3333, 8);
	ASSERT_EQ(drain(self), 0);
	parent = process_of(self, MAIN);
	child = process_of(self, CHILD);
	EXPECT_EQ(bytes_of(child, 0x3333, NULL), 3 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(parent, 0x2222, NULL), 0);

	self->stream.capture = 1;
	self->stream.tid = 100;
	stream_stack(&self->stream, 2, 0x1111, 8);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(bytes_of(parent, 0x1111, NULL), 1 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(parent, 0x2222, NULL), 2 * STREAM_PAGE);
	EXPECT_EQ(parent->mismatches, 0);
	EXPECT_EQ(child->mismatches, 0);
}

/* The parent maps a page, whose stack (capture 1, of thread 100) has not come yet, and forks. */
static void fork_behind_a_late_stack(struct stream *stream)
{
	static const uint64_t child_pages[][2] = {{16, 10}, {64, 5}, {100, 1}, {0, 0}};

	stream->capture = 1;
	stream_map(stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	stream->capture = 0;
	stream->tid = 101;
	stream_fork(stream, 2, 3, CHILD);
	stream_resync(stream, 3, MASSIF_RESYNC_FORK, 16, child_pages);
}

TEST_F(stream, a_fork_behind_a_late_stack_waits_for_it)
{
	const struct mf_pages_process *child;

	fork_behind_a_late_stack(&self->stream);
	stream_exit(&self->stream, 3, CHILD, 16);
	stream_end(&self->stream, 3, CHILD, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(mf_pages_next_ended(self->pages), NULL);
	self->stream.capture = 1;
	self->stream.tid = 100;
	stream_stack(&self->stream, 2, 0x1111, 8);
	ASSERT_EQ(drain(self), 0);

	child = mf_pages_next_ended(self->pages);
	ASSERT_NE(child, NULL);
	EXPECT_EQ(child->pid, CHILD);
	EXPECT_FALSE(child->launched);
	EXPECT_TRUE(child->exact);
	EXPECT_EQ(bytes_of(child, 0x1111, NULL), STREAM_PAGE);
	EXPECT_EQ(bytes_of(child, 0, "[anon]"), 15 * STREAM_PAGE);
}

/*
 * While the child waits for its parent's event, one of its own stacks turns out never to come. The child must have its
 * parent's texts and objects before it gets one of its own, or their numbers would not be the same.
 */
TEST_F(stream, a_fork_behind_a_late_stack_whose_child_lacks_one)
{
	const struct mf_pages_process *child;

	fork_behind_a_late_stack(&self->stream);
	self->stream.tid = CHILD;
	self->stream.capture = 2;
	stream_map(&self->stream, 3, 200, 2, MASSIF_MAP_MMAP, 18);
	self->stream.capture = 3;
	stream_map(&self->stream, 3, 210, 4, MASSIF_MAP_MMAP, 22);
	stream_stack(&self->stream, 3, 0x3333, 8);
	self->stream.capture = 0;
	stream_exit(&self->stream, 3, CHILD, 22);
	stream_end(&self->stream, 3, CHILD, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	self->stream.capture = 1;
	self->stream.tid = 100;
	stream_stack(&self->stream, 2, 0x1111, 8);
	ASSERT_EQ(drain(self), 0);

	child = mf_pages_next_ended(self->pages);
	ASSERT_NE(child, NULL);
	EXPECT_TRUE(child->exact);
	EXPECT_EQ(child->no_stack, 1);
	EXPECT_EQ(bytes_of(child, 0x1111, NULL), STREAM_PAGE);
	EXPECT_EQ(bytes_of(child, 0, "[anon]"), 15 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(child, 0, "[no stack]"), 2 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(child, 0x3333, NULL), 4 * STREAM_PAGE);
}

TEST_F(stream, a_stack_that_never_comes)
{
	const struct mf_pages_process *process;

	self->stream.capture = 1;
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	/* Capture 1 never gets a stack: the thread is already in its next system call, whose stack is capture 2. */
	self->stream.capture = 2;
	stream_map(&self->stream, 2, 110, 1, MASSIF_MAP_MMAP, 17);
	stream_stack(&self->stream, 2, 0x2222, 8);
	ASSERT_EQ(drain(self), 0);
	process = process_of(self, MAIN);
	EXPECT_EQ(bytes_of(process, 0, "[no stack]"), STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0x2222, NULL), STREAM_PAGE);

	self->stream.capture = 3; /* the module reports that the thread ended */
	stream_map(&self->stream, 2, 120, 1, MASSIF_MAP_MMAP, 18);
	stream_stack(&self->stream, 2, 0, 0);
	self->stream.capture = 4; /* a thread whose end is not reported by any record */
	stream_map(&self->stream, 2, 130, 1, MASSIF_MAP_MMAP, 19);
	stream_exit(&self->stream, 2, MAIN, 19);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(bytes_of(process, 0, "[no stack]"), 3 * STREAM_PAGE);
	EXPECT_EQ(process->no_stack, 3);
	EXPECT_EQ(process->mismatches, 0);
}

TEST_F(stream, flags_have_words)
{
	const struct mf_pages_process *process;

	self->stream.flags = MASSIF_RF_EXTERNAL;
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	self->stream.flags = MASSIF_RF_IN_EXEC;
	stream_map(&self->stream, 2, 110, 2, MASSIF_MAP_MMAP, 18);
	self->stream.flags = MASSIF_RF_NO_CAPTURE;
	stream_map(&self->stream, 2, 120, 3, MASSIF_MAP_MMAP, 21);
	ASSERT_EQ(drain(self), 0);
	process = process_of(self, MAIN);
	EXPECT_EQ(bytes_of(process, 0, "[external]"), 1 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0, "[exec]"), 2 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0, "[no stack]"), 3 * STREAM_PAGE);
	EXPECT_EQ(process->no_stack, 1);
}

/* Returns the number of mapped and resident pages according to the model. */
static uint64_t in_all(FIXTURE_DATA(stream) * self)
{
	const struct mf_model *model = mf_model_of(process_of(self, MAIN)->store);

	return (model->heap + model->extra) / STREAM_PAGE;
}

/*
 * Writes these records: ten pages are mapped, four of them are touched, and then all ten are removed. According to the
 * last record, the number of resident pages has dropped by only 2, as if another thread had added two pages in the
 * meantime.
 */
static void touch_and_tell(FIXTURE_DATA(stream) * self)
{
	stream_map(&self->stream, 2, 100, 10, MASSIF_MAP_MMAP, 25);
	for (uint64_t i = 0; i < 4; i++)
		stream_resident(&self->stream, 2, MASSIF_RESIDENT_FAULT, 100 + i, 1, 1, 1 + i);
	stream_resident(&self->stream, 2, MASSIF_RESIDENT_GONE, 100, 10, -2, 2);
}

/*
 * An UNMAP record says whether all records about the removal of its pages precede it. If they do not, pages whose
 * removal has not been reported yet (two here) stay in the total, because a later record may still report their
 * removal.
 */
TEST_F(stream, an_unmapping_says_whether_its_pages_have_gone)
{
	struct mf_pages_options both = options;

	both.what = MF_PAGES_BOTH;
	mf_pages_close(self->pages);
	ASSERT_EQ(mf_pages_attach(&both, &self->stream.control, &self->stream.consumer, self->stream.data,
				  &self->pages, &self->err),
		  0);
	stream_resident(&self->stream, 2, MASSIF_RESIDENT_BASE, 0, 0, 0, 0);
	touch_and_tell(self);
	self->stream.flags = MASSIF_RF_GONE;
	stream_unmap(&self->stream, 2, 100, 10, 15);
	self->stream.flags = 0;
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(in_all(self), 15);

	stream_resident(&self->stream, 2, MASSIF_RESIDENT_GONE, 16, 10, -2, 0);
	touch_and_tell(self);
	stream_unmap(&self->stream, 2, 100, 10, 15);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(in_all(self), 15 + 2);
	stream_resident(&self->stream, 2, MASSIF_RESIDENT_GONE, 100, 10, -2, 0);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(in_all(self), 15);
	EXPECT_EQ(process_of(self, MAIN)->mismatches, 0);
}

/*
 * To move a mapping, the kernel first copies it, but the move must count only once: the total must at no point have
 * included both the old mapping and the copy.
 */
TEST_F(stream, a_move_is_never_counted_twice)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	const struct mf_pages_process *process;
	uint32_t n;

	self->stream.capture = 1;
	stream_map(&self->stream, 2, 200, 10, MASSIF_MAP_MREMAP_COPY, 25);
	stream_unmap(&self->stream, 2, 16, 8, 17); /* a mapping that is moved and grows by 2 pages */
	stream_stack(&self->stream, 2, 0x1111, 8);
	ASSERT_EQ(drain(self), 0);
	process = process_of(self, MAIN);
	EXPECT_EQ(process->mismatches, 0);
	EXPECT_EQ(process->model_pages, 17);
	EXPECT_EQ(bytes_of(process, 0x1111, NULL), 10 * STREAM_PAGE);
	n = mf_model_view(process->store, views);
	for (uint32_t i = 0; i < n; i++)
		EXPECT_LE(views[i].snapshot.heap, 17 * STREAM_PAGE);
}

TEST_F(stream, a_copy_without_a_source_that_goes)
{
	const struct mf_pages_process *process;

	/* MREMAP_DONTUNMAP, followed by an unrelated unmapping in the same thread. */
	self->stream.capture = 1;
	stream_map(&self->stream, 2, 200, 10, MASSIF_MAP_MREMAP_COPY, 25);
	stream_stack(&self->stream, 2, 0x1111, 8);
	stream_unmap(&self->stream, 2, 16, 1, 24);
	/* The kernel fails to move a mapping, and unmaps the copy. */
	self->stream.capture = 2;
	stream_map(&self->stream, 2, 300, 10, MASSIF_MAP_MREMAP_COPY, 34);
	stream_unmap(&self->stream, 2, 300, 10, 24);
	stream_stack(&self->stream, 2, 0x2222, 8);
	ASSERT_EQ(drain(self), 0);
	process = process_of(self, MAIN);
	EXPECT_EQ(process->mismatches, 0);
	EXPECT_EQ(bytes_of(process, 0x1111, NULL), 10 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0x2222, NULL), 0);
}

TEST_F(stream, another_program_drops_the_profile)
{
	struct mf_pages_process *process;

	stream_exit(&self->stream, 2, MAIN, 15);
	stream_exec(&self->stream, 3, 2, MAIN, "other");
	stream_resync(&self->stream, 3, MASSIF_RESYNC_EXEC, 15, start_pages);
	stream_map(&self->stream, 3, 100, 1, MASSIF_MAP_MMAP, 16);
	ASSERT_EQ(drain(self), 0);
	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->state, MF_PAGES_REPLACED);
	EXPECT_STREQ(process->comm, "other");
	EXPECT_FALSE(process->exact);
	EXPECT_EQ(mf_pages_count(self->pages), 1);
}

/* posix_spawn: the child shares the address space until it calls exec. */
TEST_F(stream, a_vfork_and_exec_leaves_the_parent_alone)
{
	const struct mf_pages_process *process;

	stream_fork(&self->stream, 2, 2, CHILD);
	stream_exec(&self->stream, 3, 2, CHILD, "child");
	stream_resync(&self->stream, 3, MASSIF_RESYNC_EXEC, 15, start_pages);
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	stream_exit(&self->stream, 3, CHILD, 15);
	stream_end(&self->stream, 3, CHILD, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	EXPECT_EQ(mf_pages_next_ended(self->pages), NULL);
	process = process_of(self, MAIN);
	EXPECT_EQ(process->model_pages, 16);
	EXPECT_EQ(process->mismatches, 0);
}

TEST_F(stream, a_program_that_gains_rights_is_not_profiled)
{
	struct mf_pages_process *process;

	stream_exit(&self->stream, 2, MAIN, 15);
	stream_end(&self->stream, 2, MAIN, MASSIF_END_SECURE);
	ASSERT_EQ(drain(self), 0);
	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->state, MF_PAGES_SECURE);
}

TEST_F(stream, loss_is_told_and_made_good)
{
	static const uint64_t now[][2] = {{16, 10}, {64, 5}, {200, 3}, {0, 0}};
	struct mf_pages_process *process;

	self->stream.capture = 1;
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	self->stream.capture = 0;
	/*
	 * Three records are lost: a stack, an unmapping, and a mapping of three pages. No total is correct until
	 * the resync.
	 */
	self->stream.seq += 3;
	stream_lost(&self->stream, 2, 3, MASSIF_LOST_ROOM);
	stream_map(&self->stream, 2, 300, 1, MASSIF_MAP_MMAP, 19);
	stream_unmap(&self->stream, 2, 300, 1, 18);
	stream_resync(&self->stream, 2, MASSIF_RESYNC_LOST, 18, now);
	stream_map(&self->stream, 2, 400, 1, MASSIF_MAP_MMAP, 19);
	stream_exit(&self->stream, 2, MAIN, 19);
	stream_end(&self->stream, 2, MAIN, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->lost, 3);
	/*
	 * The interval in which records were lost begins with the last record before the three lost ones and ends with
	 * the record that reports the loss. The time of each record in milliseconds equals its sequence number.
	 */
	ASSERT_EQ(process->n_losses, 1);
	EXPECT_EQ(process->losses[0].count, 3);
	EXPECT_EQ(process->losses[0].to_ns, process->losses[0].from_ns + 4000000);
	EXPECT_EQ(process->mismatches, 0);
	EXPECT_EQ(process->model_pages, 19);
	EXPECT_FALSE(process->exact);
	EXPECT_EQ(bytes_of(process, 0, "[lost]"), 3 * STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0, "[anon]"), 15 * STREAM_PAGE);
}

/*
 * A lost record leaves a gap in the sequence numbers. The gap is noticed at the next record, which may belong to
 * another process that has itself lost nothing.
 */
TEST_F(stream, loss_is_of_whom_it_is_told)
{
	static const uint64_t pages[][2] = {{16, 10}, {64, 5}, {0, 0}};
	static const uint64_t now[][2] = {{16, 10}, {64, 5}, {200, 2}, {0, 0}};
	const struct mf_pages_process *parent, *child;

	stream_fork(&self->stream, 2, 3, CHILD);
	stream_resync(&self->stream, 3, MASSIF_RESYNC_FORK, 15, pages);
	self->stream.capture = 1;
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	/*
	 * The record of a mapping by the child is lost, which leaves a gap in the sequence numbers. The first record
	 * after the gap is the one with the parent's stack.
	 */
	self->stream.seq += 1;
	stream_stack(&self->stream, 2, 0x1111, 8);
	self->stream.capture = 0;
	stream_map(&self->stream, 2, 110, 1, MASSIF_MAP_MMAP, 17);
	stream_lost(&self->stream, 3, 1, MASSIF_LOST_ROOM);
	stream_resync(&self->stream, 3, MASSIF_RESYNC_LOST, 17, now);
	/*
	 * The records lost after the end of a target can only belong to processes whose end was not recorded, so only
	 * these processes are affected.
	 */
	stream_exit(&self->stream, 2, MAIN, 17);
	self->stream.seq += 2;
	stream_lost(&self->stream, 0, 2, MASSIF_LOST_ROOM);
	stream_end(&self->stream, 2, MAIN, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	parent = process_of(self, MAIN);
	child = process_of(self, CHILD);
	EXPECT_EQ(bytes_of(parent, 0x1111, NULL), STREAM_PAGE);
	EXPECT_EQ(parent->lost, 0);
	EXPECT_EQ(parent->mismatches, 0);
	EXPECT_TRUE(parent->exact);
	EXPECT_EQ(child->lost, 3);
	EXPECT_EQ(child->n_losses, 1);
	EXPECT_EQ(child->mismatches, 0);
}

/*
 * Intervals in which events were lost are merged if little time separates them. Once there are MF_PAGES_LOSSES_MAX
 * intervals, further ones are merged with the last one.
 */
TEST_F(stream, losses_are_joined)
{
	const struct mf_pages_process *process;

	for (int i = 0; i < 40; i++) {
		/*
		 * In this test, a record's time in ms is its sequence number. Losses come in pairs, and 500 sequence
		 * numbers are skipped before each pair, so that consecutive pairs are half a second apart.
		 */
		if (i % 2 == 0) {
			self->stream.seq += 500;
			stream_unmap(&self->stream, 2, 5000, 1, 15);
		}
		self->stream.seq += 1;
		stream_lost(&self->stream, 2, 1, MASSIF_LOST_ROOM);
	}
	ASSERT_EQ(drain(self), 0);
	process = process_of(self, MAIN);
	EXPECT_EQ(process->lost, 40);
	EXPECT_EQ(process->n_losses, MF_PAGES_LOSSES_MAX);
	EXPECT_EQ(process->losses[0].count, 2);
	EXPECT_EQ(process->losses[MF_PAGES_LOSSES_MAX - 1].count,
		  40 - 2 * (MF_PAGES_LOSSES_MAX - 1));
	for (uint32_t i = 1; i < process->n_losses; i++)
		EXPECT_GE(process->losses[i].from_ns, process->losses[i - 1].to_ns);
}

TEST_F(stream, a_wrong_total_is_noticed)
{
	struct mf_pages_process *process;

	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 17);
	self->stream.flags = MASSIF_RF_NO_TOTAL;
	stream_map(&self->stream, 2, 110, 1, MASSIF_MAP_MMAP, 99);
	self->stream.flags = 0;
	stream_exit(&self->stream, 2, MAIN, 18);
	stream_end(&self->stream, 2, MAIN, MASSIF_END_EXIT);
	ASSERT_EQ(drain(self), 0);
	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->mismatches, 2);
	EXPECT_EQ(process->model_pages, 17);
	EXPECT_EQ(process->kernel_pages, 18);
	EXPECT_FALSE(process->exact);
}

TEST_F(stream, stopping_early_keeps_what_there_is)
{
	struct mf_pages_process *process;

	self->stream.capture = 1;
	stream_map(&self->stream, 2, 100, 1, MASSIF_MAP_MMAP, 16);
	ASSERT_EQ(mf_pages_end(self->pages, &self->err), 0);
	process = mf_pages_next_ended(self->pages);
	ASSERT_NE(process, NULL);
	EXPECT_EQ(process->state, MF_PAGES_STOPPED);
	EXPECT_EQ(process->model_pages, 16);
	EXPECT_EQ(process->kernel_pages, 0);
	EXPECT_FALSE(process->exact);
}

/* The ring wraps around many times, with padding at its end, and is read in pieces. */
TEST_F(stream, the_ring_wraps)
{
	const struct mf_pages_process *process;

	for (uint32_t i = 0; i < 2000; i++) {
		self->stream.capture = i + 1;
		stream_map(&self->stream, 2, 1000 + i, 1, MASSIF_MAP_MMAP, 16 + i);
		stream_name(&self->stream, 2, 1000 + i, 1, "/a/file/of/odd/length" + i % 9);
		stream_stack(&self->stream, 2, 0x4444, i % 500 * 8);
		if (i % 10 == 0)
			ASSERT_EQ(drain(self), 0);
	}
	ASSERT_EQ(drain(self), 0);
	EXPECT_GT(self->stream.control.head, 10ull * STREAM_BYTES);
	EXPECT_EQ(self->stream.consumer.tail, self->stream.control.head);
	process = process_of(self, MAIN);
	EXPECT_EQ(process->lost, 0);
	EXPECT_EQ(process->mismatches, 0);
	EXPECT_EQ(bytes_of(process, 0x4444, NULL), 2000 * STREAM_PAGE);
}

/*
 * massif-ctl limits the number of records that it holds back until their stacks arrive, and enforces this limit even if
 * the module violates its own limit.
 */
TEST_F(stream, waiting_has_an_end)
{
	const struct mf_pages_process *process;
	uint32_t i;

	self->stream.capture = 1;
	stream_map(&self->stream, 2, 10, 1, MASSIF_MAP_MMAP, 16);
	self->stream.tid = 101;
	for (i = 0; i < 5000; i++) {
		self->stream.capture = i + 2;
		stream_map(&self->stream, 2, 1000 + i, 1, MASSIF_MAP_MMAP, 17 + i);
		stream_stack(&self->stream, 2, 0x4444, 32768);
		ASSERT_EQ(drain(self), 0);
	}
	process = process_of(self, MAIN);
	EXPECT_EQ(bytes_of(process, 0, "[no stack]"), STREAM_PAGE);
	EXPECT_EQ(bytes_of(process, 0x4444, NULL), 5000 * STREAM_PAGE);
}

TEST_HARNESS_MAIN
