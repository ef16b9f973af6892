/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for what is given to an executed program, if it is too large for the stack of the thread that executes it. */
#ifndef MASSIF_PRELOAD_EXEC_MEMORY_H
#define MASSIF_PRELOAD_EXEC_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* Memory that the current thread, or its child of vfork(), has taken and not yet given back. Part of the thread's state. */
struct mf_exec_memory {
	void *at; /* NULL: none */
	size_t bytes;
	pid_t taker;
};

/*
 * mf_exec_memory_take() maps @bytes, and mf_exec_memory_give_back() unmaps them once the call that executes the program has
 * returned. A child that shares its parent's memory does not return if it succeeds. Its memory then stays mapped in the
 * parent until the parent's thread takes memory again, or ends; if that thread has never had an event, until the process
 * ends. errno does not change.
 * Return: NULL if there is no memory.
 */
void *mf_exec_memory_take(size_t bytes);
void mf_exec_memory_give_back(void *at, size_t bytes);

/* Unmaps what a child of the thread with the state @memory has left. Called when the thread ends. */
void mf_exec_memory_thread_ended(struct mf_exec_memory *memory);

#endif
