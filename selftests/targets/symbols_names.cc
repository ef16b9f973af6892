// SPDX-License-Identifier: GPL-2.0
// Allocates from many kinds of functions: inlined functions, templates, clones, library callbacks, threads. If a file
// name is given, copies /proc/self/maps to it, for resolving addresses.

#include <pthread.h>
#include <search.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <locale>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace shapes
{
struct Shape {
	virtual ~Shape() = default;
	virtual void *grow(size_t n) = 0;
};

template <typename T, int N> struct Grid : Shape {
	std::vector<T> cells;

	void *grow(size_t n) override
	{
		cells.resize(n * N);
		return cells.data();
	}
};
} // end of namespace shapes

namespace
{
void *kept[4096];
unsigned n_kept;

inline __attribute__((always_inline)) void *keep(void *p)
{
	kept[n_kept++ % 4096] = p;
	return p;
}

inline __attribute__((always_inline)) void *twice(size_t n)
{
	keep(std::malloc(n));
	return keep(std::calloc(n, 2));
}

template <typename F> __attribute__((noinline)) auto apply(F f, int n) -> decltype(f(n))
{
	return f(n);
}

__attribute__((noinline)) int recurse(int n)
{
	keep(std::malloc(static_cast<size_t>(16 + n)));
	if (n > 0)
		return recurse(n - 1) + 1;
	return static_cast<int>(n_kept);
}

int order(const void *a, const void *b)
{
	keep(std::malloc(24));
	return std::strcmp(static_cast<const char *>(a), static_cast<const char *>(b));
}

void *in_thread(void *argument)
{
	twice(100);
	return argument;
}

__attribute__((noinline)) void use_blocks(int n)
{
	for (int i = 0; i < n; i++) {
		int local = i;
		{
			void *p = keep(std::malloc(static_cast<size_t>(local) + 8));

			if (i & 1)
				kept[n_kept % 4096] = std::realloc(p, 500);
		}
		try {
			if (i == 2)
				throw std::string(200, 'x');
		} catch (const std::string &text) {
			keep(strdup(text.c_str()));
		}
	}
}
} // end of anonymous namespace

extern "C" __attribute__((noinline)) void *plain_c(size_t n)
{
	return keep(std::malloc(n));
}

static void copy_maps(const char *path)
{
	FILE *in = std::fopen("/proc/self/maps", "r");
	FILE *out = std::fopen(path, "w");
	int c;

	if (!in || !out)
		std::exit(2);
	while ((c = std::getc(in)) != EOF)
		std::putc(c, out);
	std::fclose(in);
	if (std::fclose(out))
		std::exit(2);
}

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> words;
	std::unique_ptr<shapes::Shape> shape(new shapes::Grid<double, 3>);
	std::function<void *(size_t)> call = [](size_t n) { return twice(n); };
	void *root = nullptr;
	pthread_t thread;

	for (int i = 0; i < 40; i++)
		words["a rather long key of number " + std::to_string(i % 13)].push_back(i);
	shape->grow(100);
	call(77);
	apply([](int n) { return keep(::operator new(static_cast<size_t>(n))); }, 300);
	apply([&](int n) { return words.size() + static_cast<size_t>(n); }, 1);
	plain_c(60);
	recurse(6);
	use_blocks(5);
	for (const char *word : { "one", "two", "three", "four" })
		tsearch(word, &root, order);
	char numbers[64][8];
	for (int i = 0; i < 64; i++)
		std::snprintf(numbers[i], sizeof(numbers[i]), "%d", i * 7919 % 64);
	std::qsort(numbers, 64, sizeof(*numbers), order);
	std::regex pattern("(a+)b*|c");
	std::regex_search("xxaab", pattern);
	std::stable_sort(words.begin()->second.begin(), words.begin()->second.end());
	if (pthread_create(&thread, nullptr, in_thread, nullptr))
		return 2;
	pthread_join(thread, nullptr);
	setenv("A_VARIABLE", "with some value", 1);
	if (argc > 1)
		copy_maps(argv[1]);
	return 0;
}
