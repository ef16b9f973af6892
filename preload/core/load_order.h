/* SPDX-License-Identifier: GPL-2.0 */
/* Temporarily moves the shim in the dynamic linker's list of objects. */
#ifndef MASSIF_PRELOAD_LOAD_ORDER_H
#define MASSIF_PRELOAD_LOAD_ORDER_H

#include "real.h"

/*
 * Call these before and after looking up the real functions, while the process has one thread. If a library requires
 * that it is first in the list, mf_load_order_yield() moves the shim behind that library; mf_load_order_return() makes
 * the library check its position and then moves the shim back. @real: the real functions.
 */
void mf_load_order_yield(void);
void mf_load_order_return(const struct mf_real *real);

#endif
