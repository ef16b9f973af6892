/* SPDX-License-Identifier: GPL-2.0 */
/* Where the shim stands in the list of objects. */
#ifndef MASSIF_PRELOAD_ORDER_H
#define MASSIF_PRELOAD_ORDER_H

#include "real.h"

/*
 * Around the search for the functions that the program would have called without the shim (@real): lets a
 * library that insists on being the first object be it, until it has looked. While there is one thread.
 */
void mf_load_order_yield(void);
void mf_load_order_return(const struct mf_real *real);

#endif
