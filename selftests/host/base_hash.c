// SPDX-License-Identifier: GPL-2.0
// The hash of tables has a key that is random in each process; it hashes texts of any length.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/hash.h"

/* Keys that share a slot in one process do not in another, so that no file can be made of such keys. */
TEST(keys_that_collide)
{
	enum { KEYS = 1000, SLOTS = 4096 };
	uint64_t old[2] = { mf_hash_key[0], mf_hash_key[1] };
	unsigned int most = 0, in_slot[SLOTS] = { 0 };
	uint64_t keys[KEYS];
	size_t n = 0;

	EXPECT_NE(0, old[0]);
	EXPECT_NE(0, old[1]);
	EXPECT_NE(old[0], old[1]);
	for (uint64_t i = 0; n < KEYS; i++)
		if (!(mf_hash(i, 1) % SLOTS))
			keys[n++] = i;
	mf_hash_key[0] ^= 1ull << 40 | 5;
	mf_hash_key[1] ^= 1ull << 50 | 6;
	for (size_t i = 0; i < KEYS; i++) {
		unsigned int in = ++in_slot[mf_hash(keys[i], 1) % SLOTS];

		most = in > most ? in : most;
	}
	EXPECT_GT(10, most);
	memcpy(mf_hash_key, old, sizeof(old));
}

/* The key of another process. The test calls itself. */
static uint64_t key_of_child(void)
{
	int pipes[2], status;
	uint64_t key = 0;
	pid_t pid;

	if (pipe(pipes))
		abort();
	pid = fork();
	if (!pid) {
		char number[16];

		snprintf(number, sizeof(number), "%d", pipes[1]);
		setenv("MASSIF_HASH_KEY_TO", number, 1);
		execl("/proc/self/exe", "base_hash", (char *)NULL);
		_exit(99);
	}
	close(pipes[1]);
	if (read(pipes[0], &key, sizeof(key)) != sizeof(key))
		key = 0;
	close(pipes[0]);
	waitpid(pid, &status, 0);
	return key;
}

__attribute__((constructor)) static void tell_key(void)
{
	const char *to = getenv("MASSIF_HASH_KEY_TO");

	if (to)
		_exit(write((int)strtol(to, NULL, 10), mf_hash_key, sizeof(*mf_hash_key)) != sizeof(*mf_hash_key));
}

TEST(keys_of_processes_differ)
{
	uint64_t first = key_of_child();

	EXPECT_NE(0, first);
	EXPECT_NE(first, key_of_child());
}

TEST(texts)
{
	enum { LONGEST = 40 };
	char text[LONGEST + 1] = "";
	uint64_t hashes[2 * LONGEST];
	size_t n = 0;

	/* Texts that are the beginning of another, and those that differ in the last character only. */
	for (size_t i = 0; i < LONGEST; i++) {
		text[i] = 'a';
		hashes[n++] = mf_hash_text(text, 0);
		EXPECT_EQ(hashes[n - 1], mf_hash_text(text, 0));
		EXPECT_NE(hashes[n - 1], mf_hash_text(text, 1));
		text[i] = 'b';
		hashes[n++] = mf_hash_text(text, 0);
		text[i] = 'a';
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			EXPECT_NE(hashes[i], hashes[k]);
}

TEST_HARNESS_MAIN
