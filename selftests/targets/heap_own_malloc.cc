// SPDX-License-Identifier: GPL-2.0
// A program with its own malloc, which is also used by C++'s new and the C library.

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

static unsigned char arena[8 << 20];
static size_t used;
static unsigned long foreign;

extern "C" void *malloc(size_t size)
{
	size_t need = (size + 31) & ~static_cast<size_t>(15);
	size_t at = __atomic_fetch_add(&used, need, __ATOMIC_SEQ_CST);

	if (at + need > sizeof(arena))
		return nullptr;
	std::memcpy(arena + at, &size, sizeof(size));
	return arena + at + 16;
}

/* Counts blocks that are freed here but were not allocated here. There must be none. */
extern "C" void free(void *block)
{
	if (block && (block < arena || block >= arena + sizeof(arena)))
		foreign++;
}

extern "C" void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

extern "C" void *realloc(void *block, size_t size)
{
	void *fresh = malloc(size);
	size_t old = 0;

	if (block && fresh) {
		std::memcpy(&old, static_cast<unsigned char *>(block) - 16, sizeof(old));
		std::memcpy(fresh, block, old < size ? old : size);
	}
	return fresh;
}

int main()
{
	std::vector<std::string> words;

	for (int i = 0; i < 1000; i++)
		words.push_back(std::to_string(i) + " is a number that needs more than a small string");
	words.clear();
	delete new int(5);
	std::printf("%lu blocks of others\n", foreign);
	return 0;
}
