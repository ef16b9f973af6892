/* SPDX-License-Identifier: GPL-2.0 */
/* Freeing from within the shim, where `free` may be the program's own function. */
#ifndef MASSIF_PRELOAD_ALLOCATOR_H
#define MASSIF_PRELOAD_ALLOCATOR_H

/* As free(3); NULL is allowed. */
void mf_allocator_free(void *pointer);

#endif
