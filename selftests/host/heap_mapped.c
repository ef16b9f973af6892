// SPDX-License-Identifier: GPL-2.0
// Files that massif-ctl keeps open for the objects of a process are those of that process.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "base/held.h"
#include "base/proc_mapping.h"
#include "ctl/heap/mapped.h"
#include "model/model.h"
#include "model/objects.h"

static const struct mf_model_options defaults = { 1, 100, 3, MF_TIME_BYTES, 8, 16 };

FIXTURE(mapped) {
	struct mf_held *held;
	struct mf_mapped mapped;
	struct mf_store store;
	int memory;
};

/* Adds this test's own mapping of its program as the only object. */
FIXTURE_SETUP(mapped)
{
	struct mf_proc_mappings maps;
	struct mf_proc_mapping found;
	bool has = false;

	self->held = mf_held_create(16);
	ASSERT_NE(NULL, self->held);
	mf_mapped_init(&self->mapped, self->held);
	ASSERT_EQ(0, mf_store_create(&self->store, 0, &self->memory, NULL));
	mf_model_init(&self->store, &defaults);
	ASSERT_EQ(0, mf_proc_mappings_open(&maps, 0));
	while (!has && mf_proc_mappings_next(&maps, &found)) {
		has = *found.path == '/';
		if (has)
			mf_objects_add(&self->store, &(struct mf_object){ .kind = MF_OBJECT_FILE, .start = found.start,
									  .end = found.end, .path = found.path });
	}
	mf_proc_mappings_close(&maps);
	ASSERT_TRUE(has);
}

FIXTURE_TEARDOWN(mapped)
{
	mf_mapped_deinit(&self->mapped, &self->store);
	mf_store_detach(&self->store);
	mf_held_destroy(self->held);
	close(self->memory);
}

TEST_F(mapped, files_of_the_process)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	ASSERT_LE(0, pidfd);
	EXPECT_TRUE(mf_mapped_look(&self->mapped, &self->store, getpid(), pidfd));
	EXPECT_NE(NULL, self->store.files[1]);
	close(pidfd);
}

/* The pidfd is that of a process that has ended, whose pid is now that of another process: this test. */
TEST_F(mapped, not_of_another_with_the_same_pid)
{
	pid_t child = fork();
	int pidfd;

	if (!child)
		_exit(0);
	ASSERT_LT(0, child);
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	ASSERT_LE(0, pidfd);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_TRUE(mf_mapped_look(&self->mapped, &self->store, getpid(), pidfd));
	EXPECT_EQ(NULL, self->store.files[1]);
	EXPECT_EQ(0, mf_held_count(self->held));
	close(pidfd);
}

TEST_HARNESS_MAIN
