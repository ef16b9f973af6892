/* SPDX-License-Identifier: GPL-2.0 */
/* The blocks that heap_threads keeps, identified by their sizes. */
#ifndef MASSIF_SELFTESTS_HEAP_THREADS_H
#define MASSIF_SELFTESTS_HEAP_THREADS_H

#define HEAP_THREADS_KEPT	  5 /* number of blocks of KEPT_BYTES that each thread keeps */
#define HEAP_THREADS_KEPT_BYTES	  1111
#define HEAP_THREADS_ENDING	  4 /* number of blocks of ENDING_BYTES from each thread's key destructor */
#define HEAP_THREADS_ENDING_BYTES 777
#define HEAP_THREADS_FORKED_BYTES 54321

#define HEAP_THREADS_NO_MORE 77 /* exit status if the system does not permit enough threads */

#endif
