/* SPDX-License-Identifier: GPL-2.0 */
/* Constants shared by heap_depth and its test. */
#ifndef MASSIF_SELFTESTS_HEAP_DEPTH_H
#define MASSIF_SELFTESTS_HEAP_DEPTH_H

#define MARK_SIZE(i) (100003ul + 1009ul * (unsigned long)(i))
#define MARKS	     16

#define STAYING	    9u
#define STAY_BYTES  60000ul
#define SMALL_STACK 131072ul
#define HUGE_BYTES  200000000ul

#endif
