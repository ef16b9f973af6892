// SPDX-License-Identifier: GPL-2.0
// shop [MONTHS [PAUSE]]: takes 3000 orders a month, with PAUSE microseconds after each.

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "shop.h"

static void serve_month(Shop &shop, int number, int pause)
{
	for (long i = 0; i < 3000; i++) {
		Order *order = read_order(number * 3000 + i, (int)shop.catalogue.size());

		if (take_order(shop, order))
			count_turnover(shop, *order);
		if (pause)
			usleep(pause);
	}
}

static void close_month(Shop &shop)
{
	for (Order *order : shop.month)
		delete order;
	shop.month.clear();
}

int main(int argc, char **argv)
{
	const int months = argc > 1 ? atoi(argv[1]) : 8, pause = argc > 2 ? atoi(argv[2]) : 0;
	FILE *out = fopen("/dev/null", "w");
	Shop shop;

	read_catalogue(shop, 2000);
	for (int i = 0; i < months; i++) {
		serve_month(shop, i, pause);
		report_month(shop, out);
		close_month(shop);
	}
	fclose(out);
}
