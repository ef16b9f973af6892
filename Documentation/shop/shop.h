/* SPDX-License-Identifier: GPL-2.0 */
/* A shop that takes orders and reports on them each month: the program of the tour. It has three planted mistakes. */
#ifndef SHOP_H
#define SHOP_H

#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct Item {
	std::string name;
	long price; /* in cents */
	long stock;
};

struct Line {
	int item;
	long count;
};

struct Order {
	long number;
	std::string customer, address;
	std::vector<Line> lines;
};

struct Shop {
	std::vector<Item> catalogue;
	std::map<std::string, long> turnover; /* by formatted price */
	std::vector<Order *> month;	      /* the orders of this month */
};

/* orders.cc */
void read_catalogue(Shop &shop, int items);
Order *read_order(long number, int items);
bool take_order(Shop &shop, Order *order);

/* prices.cc */
std::string format_price(long cents);
void count_turnover(Shop &shop, const Order &order);

/* report.cc, and better in report2.cc */
void report_month(Shop &shop, FILE *out);

#endif
