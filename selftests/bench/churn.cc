// SPDX-License-Identifier: GPL-2.0
// Maps, vectors and strings that grow and shrink: churn ROUNDS

#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

static unsigned int state = 1;

static unsigned int next()
{
	state = state * 1103515245u + 12345u;
	return state >> 8;
}

static std::string word(unsigned int number)
{
	std::string text = "word-";

	text += std::to_string(number);
	text += number % 3 ? " of some length" : " of a length that is beyond what fits in place";
	return text;
}

struct index {
	std::map<std::string, std::vector<int>> places;
	std::unordered_map<int, std::string> names;

	void add(int place)
	{
		std::string text = word(next() % 20000);

		places[text].push_back(place);
		names[place] = text;
	}

	void remove(int place)
	{
		auto name = names.find(place);

		if (name == names.end())
			return;
		auto found = places.find(name->second);

		if (found != places.end() && found->second.size() > 4)
			places.erase(found);
		names.erase(name);
	}
};

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	size_t total = 0;

	for (int round = 0; round < rounds; round++) {
		index all;

		for (int i = 0; i < 100000; i++) {
			all.add(i);
			if (i % 3 == 0)
				all.remove(static_cast<int>(next() % 100000));
		}
		total += all.places.size();
	}
	return total ? 0 : rounds;
}
