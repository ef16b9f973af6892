// SPDX-License-Identifier: GPL-2.0
// A translation unit with a lot of debug information. names.sh links many copies of it into one program.

#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
using table = std::map<std::string, std::vector<int>>;

template <int N> struct worker {
	static __attribute__((noinline)) void *go(table &places, int n)
	{
		places["place " + std::to_string(n * N)].push_back(n);
		return worker<N - 1>::go(places, n + 1);
	}
};

template <> struct worker<0> {
	static __attribute__((noinline)) void *go(table &places, int n)
	{
		return malloc(5000 + static_cast<size_t>(n) + places.size());
	}
};
} // end of anonymous namespace

extern "C" void *names_unit(int n)
{
	std::regex pattern("a+b");
	table places;

	worker<12>::go(places, n);
	return malloc(std::regex_match("aab", pattern) ? 1000 : 2000);
}
