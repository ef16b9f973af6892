// SPDX-License-Identifier: GPL-2.0
// The report of a month, with less memory: the orders are sorted by their numbers, and written one by one.

#include <algorithm>
#include <cstdio>

#include "shop.h"

void report_month(Shop &shop, FILE *out)
{
	std::sort(shop.month.begin(), shop.month.end(), [](const Order *a, const Order *b) { return a->number < b->number; });
	for (const Order *order : shop.month) {
		fprintf(out, "order %ld of %s, %s\n", order->number, order->customer.c_str(), order->address.c_str());
		for (const Line &line : order->lines)
			fprintf(out, "    %ld of %s, from the stock of our warehouse\n", line.count,
				shop.catalogue[line.item].name.c_str());
	}
}
