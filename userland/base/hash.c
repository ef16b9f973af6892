// SPDX-License-Identifier: GPL-2.0
// A hash with a key that is random in each process.

#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

uint64_t mf_hash_key[2];

/* Before other constructors, which may use tables. */
__attribute__((constructor(101))) static void choose_key(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (getrandom(mf_hash_key, sizeof(mf_hash_key), GRND_NONBLOCK) == sizeof(mf_hash_key))
		return;
	/* Early in boot there may be no random numbers yet, except those that the kernel gives every program. */
	if (random)
		memcpy(mf_hash_key, random, sizeof(mf_hash_key));
}

uint64_t mf_hash_text(const char *text, uint64_t number)
{
	size_t left = strlen(text);
	uint64_t hash = mf_hash(left, number), word;

	for (; left >= sizeof(word); left -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mf_hash(word, hash);
	}
	word = 0;
	memcpy(&word, text, left);
	return mf_hash(word, hash);
}
