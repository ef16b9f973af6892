// SPDX-License-Identifier: GPL-2.0
// Holds a million bytes in a vector. Compiled without optimisation, so that several functions of the C++ library, which are
// not inlined, lie between the program and the allocation.

#include <cstdio>
#include <unistd.h>
#include <vector>

static std::vector<char> *held;

__attribute__((noinline)) static void fill()
{
	held = new std::vector<char>;
	held->insert(held->end(), 1000000, 'x');
}

int main()
{
	fill();
	std::printf("ready %d\n", static_cast<int>(getpid()));
	std::fflush(stdout);
	pause();
	return 0;
}
