// SPDX-License-Identifier: GPL-2.0
// sanitizers WHAT: allocates in several threads and then allocates one large block ("fine"), or triggers an error for
// which AddressSanitizer terminates the program ("freed", "beyond", "mismatch", "leak"). This file is also compiled
// with each sanitizer; see host/heap_sanitizers.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::map<int, std::string> kept;

static void work(int number)
{
	for (int i = 0; i < 20000; i++) {
		std::string text(100 + i % 200, 'x');

		if (i % 10 == 0) {
			std::lock_guard<std::mutex> guard(lock);

			kept[number * 100000 + i % 500] = text;
		}
	}
}

/* Volatile, so that the compiler cannot optimise accesses away. */
static void *volatile block;

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "fine";
	int *numbers = new int[10];
	std::vector<std::thread> threads;

	numbers[0] = argc;
	block = numbers;
	if (!strcmp(what, "freed")) {
		delete[] numbers;
		printf("%d\n", *(int *)block);
	} else if (!strcmp(what, "beyond")) {
		printf("%d\n", ((int *)block)[9 + argc]);
	} else if (!strcmp(what, "mismatch")) {
		free(block);
	} else if (!strcmp(what, "leak")) {
		block = malloc(77);
		numbers = NULL;
		block = NULL;
	}
	if (strcmp(what, "fine"))
		return 0;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
	block = malloc(5000000);
	block = realloc(block, 10000000);
	free(block);
	delete[] numbers;
	printf("%zu kept\n", kept.size());
	return 0;
}
