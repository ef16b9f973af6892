/* SPDX-License-Identifier: GPL-2.0 */
/* Has threads of io_uring report quiescent states while the module waits for grace periods of RCU tasks. */
#ifndef MASSIF_QUIESCENT_H
#define MASSIF_QUIESCENT_H

/* Offset of the member passed of struct prod (quiescent.c), for compat/prod_64.S. */
#define MASSIF_PROD_PASSED	16

#ifndef __ASSEMBLY__

struct callback_head;

void massif_quiescent_prod(struct callback_head *work);
void massif_quiescent_pass(void);

void massif_quiescent_begin(void);
void massif_quiescent_end(void);
void massif_quiescent_exit(void);

#endif

#endif
