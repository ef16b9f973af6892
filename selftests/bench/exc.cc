// SPDX-License-Identifier: GPL-2.0
// C++ exceptions, thrown through frames whose local variables have destructors: exc THROWS

#include <cstdlib>
#include <stdexcept>
#include <string>

static __attribute__((noinline)) int dig(int level, const std::string &text)
{
	std::string local = text + " further down the stack, level by level";

	if (level == 0)
		throw std::runtime_error(local);
	return dig(level - 1, text) + static_cast<int>(local.size());
}

int main(int argc, char **argv)
{
	long throws = argc > 1 ? atol(argv[1]) : 0, caught = 0;

	for (long i = 0; i < throws; i++) {
		try {
			dig(static_cast<int>(i % 7), "something");
		} catch (const std::exception &error) {
			caught += error.what()[0] == 's';
		}
	}
	return caught == throws ? 0 : 1;
}
