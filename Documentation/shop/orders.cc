// SPDX-License-Identifier: GPL-2.0
// Orders and the catalogue.

#include "shop.h"

void read_catalogue(Shop &shop, int items)
{
	for (int i = 0; i < items; i++) {
		std::string name = "item number " + std::to_string(i) + " of the shop";

		shop.catalogue.push_back({ name, 100 + i * 37 % 9900, 1000000 });
	}
}

Order *read_order(long number, int items)
{
	std::string address = std::to_string(number % 200) + " Long Street, Some Town, " + std::to_string(number % 90000);
	Order *order = new Order{ number, "customer number " + std::to_string(number % 1000), address, {} };

	for (long i = 0; i < 1 + number % 4; i++)
		order->lines.push_back({ (int)((number * 31 + i * 7) % items), 1 + i });
	return order;
}

/* Returns whether the order is taken. Each 12th is refused, and then nobody deletes it: a leak. */
bool take_order(Shop &shop, Order *order)
{
	if (order->number % 12 == 11)
		return false;
	for (const Line &line : order->lines)
		shop.catalogue[line.item].stock -= line.count;
	shop.month.push_back(order);
	return true;
}
