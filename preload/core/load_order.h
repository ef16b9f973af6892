/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Temporarily moves the shim behind AddressSanitizer's library in the dynamic linker's list of objects, because that
 * library aborts the program if any other library precedes it in the list.
 */
#ifndef MASSIF_PRELOAD_LOAD_ORDER_H
#define MASSIF_PRELOAD_LOAD_ORDER_H

#include "real.h"

/*
 * AddressSanitizer's library requires that no other library precede it in the dynamic linker's list of loaded objects.
 * If that library is loaded, mf_load_order_yield() moves the shim behind it in the list, and mf_load_order_return()
 * makes the library check its position and then moves the shim back. Call mf_load_order_yield() before looking up the
 * real functions, and mf_load_order_return() afterwards, while the process has one thread. @real: the real functions.
 */
void mf_load_order_yield(void);
void mf_load_order_return(const struct mf_real *real);

#endif
