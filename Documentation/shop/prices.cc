// SPDX-License-Identifier: GPL-2.0
// Prices as text.

#include "shop.h"

std::string format_price(long cents)
{
	return "EUR " + std::to_string(cents / 100) + "." + std::to_string(100 + cents % 100).substr(1) + " including tax";
}

/* Formats each price anew only to look it up: temporary blocks. */
void count_turnover(Shop &shop, const Order &order)
{
	for (const Line &line : order.lines) {
		const Item &item = shop.catalogue[line.item];

		for (long i = 0; i < line.count; i++)
			shop.turnover[format_price(item.price)] += item.price;
	}
}
