/* SPDX-License-Identifier: GPL-2.0 */
/* The blocks that heap_threads keeps, identified by their sizes. */
#ifndef MASSIF_SELFTESTS_HEAP_THREADS_H
#define MASSIF_SELFTESTS_HEAP_THREADS_H

#define HEAP_THREADS_KEPT	  5 /* number of blocks that each thread keeps; size: see next line */
#define HEAP_THREADS_KEPT_BYTES	  1111
#define HEAP_THREADS_ENDING	  4 /* number of blocks from each thread's key destructor; size: see next line */
#define HEAP_THREADS_ENDING_BYTES 777
#define HEAP_THREADS_FORKED_BYTES 54321

#define HEAP_THREADS_NO_MORE 77 /* exit status if the system permits no more threads */

#endif
