/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for what is given to an executed program, if it is too large for the stack of the thread that executes it. */
#ifndef MASSIF_PRELOAD_EXEC_MEMORY_H
#define MASSIF_PRELOAD_EXEC_MEMORY_H

#include <stddef.h>

/*
 * mf_exec_memory_take() maps @bytes, and mf_exec_memory_give_back() unmaps them once the call that executes the program has
 * returned. A child that shares its parent's memory does not return if it succeeds. Its memory then stays mapped in the
 * parent until the parent's thread takes memory again, or ends after it has had an event. errno does not change.
 * Return: NULL if there is no memory.
 */
void *mf_exec_memory_take(size_t bytes);
void mf_exec_memory_give_back(void *memory, size_t bytes);

/* Unmaps what a child of the current thread has left. Called when a thread ends that has had an event. */
void mf_exec_memory_thread_ended(void);

#endif
