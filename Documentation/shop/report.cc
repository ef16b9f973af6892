// SPDX-License-Identifier: GPL-2.0
// The report of a month.

#include <algorithm>
#include <cstdio>

#include "shop.h"

static std::string describe(const Shop &shop, const Order &order)
{
	std::string text = "order " + std::to_string(order.number) + " of " + order.customer + ", " + order.address + "\n";

	for (const Line &line : order.lines)
		text += "    " + std::to_string(line.count) + " of " + shop.catalogue[line.item].name +
			", from the stock of our warehouse\n";
	return text;
}

/* Holds the whole text, first in parts to sort them and then as one: the peak. */
void report_month(Shop &shop, FILE *out)
{
	std::vector<std::string> parts;
	std::string whole;

	for (const Order *order : shop.month)
		parts.push_back(describe(shop, *order));
	std::sort(parts.begin(), parts.end());
	for (const std::string &part : parts)
		whole += part;
	fwrite(whole.data(), 1, whole.size(), out);
}
