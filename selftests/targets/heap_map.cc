// SPDX-License-Identifier: GPL-2.0
// Grows a map of strings, and throws an exception.

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

int main()
{
	std::map<int, std::string> map;

	for (int i = 0; i < 100000; i++)
		map[i * 7919 % 5000] += std::to_string(i);
	try {
		throw std::runtime_error("as ever");
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	std::printf("%zu %zu\n", map.size(), map.rbegin()->second.size());
	return 3;
}
