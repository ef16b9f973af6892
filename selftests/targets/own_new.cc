// SPDX-License-Identifier: GPL-2.0
// A program with its own operators new and delete, which put a header before each block. It does not define all forms
// of the operators; the C++ library's versions of the other forms call those that it does define. A class also has
// operators of its own.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

static const std::size_t header = 48;
static unsigned long served, freed;

__attribute__((noinline)) void *operator new(std::size_t size)
{
	char *block = size > 1ul << 40 ? nullptr : static_cast<char *>(std::malloc(size + header));

	if (!block)
		throw std::bad_alloc();
	served++;
	return block + header;
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
	if (!block)
		return;
	freed++;
	std::free(static_cast<char *>(block) - header);
}

struct pooled {
	char bytes[100];

	static void *operator new(std::size_t size)
	{
		return std::malloc(size + 8);
	}

	static void operator delete(void *block)
	{
		std::free(block);
	}
};

struct shape {
	virtual ~shape() {}
	char bytes[200];
};

struct circle : shape {
	std::vector<int> points = std::vector<int>(30);
};

static __attribute__((noinline)) int *numbers()
{
	return new int[25];
}

static __attribute__((noinline)) shape *figure()
{
	return new circle;
}

static __attribute__((noinline)) pooled *from_class()
{
	return new pooled;
}

/* Makes operator new, which massif counts, throw an exception. */
static void fail()
{
	volatile std::size_t size = 1ul << 50;

	try {
		char *block = static_cast<char *>(::operator new(size));

		__asm__ volatile("" : : "r"(block));
	} catch (const std::bad_alloc &) {
	}
}

int main(int argc, char **argv)
{
	char line[80];
	int length;
	std::vector<std::string> words;
	int *some = numbers();
	shape *one = figure();
	pooled *other = from_class();

	delete new (std::nothrow) int(5);
	if (argc > 1 && !std::strcmp(argv[1], "fails"))
		fail();
	for (int i = 0; i < 20; i++)
		words.push_back(std::string(50 + static_cast<std::size_t>(i), 'x'));
	delete[] some;
	delete one;
	delete other;
	words.clear();
	words.shrink_to_fit();
	length = std::snprintf(line, sizeof(line), "%lu served, %lu freed\n", served, freed);
	return write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length;
}
