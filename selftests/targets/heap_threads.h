/* SPDX-License-Identifier: GPL-2.0 */
/* What heap_threads keeps: sizes by which its blocks are known. */
#ifndef SELFTESTS_TARGETS_HEAP_THREADS_H
#define SELFTESTS_TARGETS_HEAP_THREADS_H

#define HEAP_THREADS_KEPT	  5 /* of each thread, of */
#define HEAP_THREADS_KEPT_BYTES	  1111
#define HEAP_THREADS_ENDING	  4 /* of each thread, from its key's destructor, of */
#define HEAP_THREADS_ENDING_BYTES 777
#define HEAP_THREADS_FORKED_BYTES 54321

#define HEAP_THREADS_NO_MORE 77 /* it exits with, where the system lets it make no more threads */

#endif
