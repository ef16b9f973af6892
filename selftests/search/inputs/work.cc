// SPDX-License-Identifier: GPL-2.0
// Compiler input that includes large headers. When run, the program uses exceptions, regular expressions and threads.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

int main()
{
	std::map<std::string, std::vector<int>> table;
	for (int i = 0; i < 5000; i++)
		table[std::to_string(i * 7919 % 5003)].push_back(i);
	long found = std::count_if(table.begin(), table.end(), [](const auto &e) {
		return std::regex_search(e.first, std::regex("1[2-5]+"));
	});
	int thrown = 0;
	for (int i = 0; i < 1000; i++) {
		try {
			throw std::make_shared<std::string>(i, 'x');
		} catch (const std::shared_ptr<std::string> &text) {
			thrown += text->size() % 7;
		}
	}
	std::vector<std::thread> threads;
	std::vector<long> sums(100);
	for (int i = 0; i < 100; i++)
		threads.emplace_back([i, &sums] { sums[i] = std::to_string(i * i).size(); });
	for (auto &thread : threads)
		thread.join();
	long sum = 0;
	for (long part : sums)
		sum += part;
	std::cout << table.size() << ' ' << found << ' ' << thrown << ' ' << sum << '\n';
}
