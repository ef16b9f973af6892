/* SPDX-License-Identifier: GPL-2.0 */
/* The task_work by which a thread reports a quiescent state (quiescent.c). */
#include <linux/linkage.h>
#include <asm/frame.h>

/* A kernel with CFI checks the type of a function that is called by a pointer. */
#if __has_include(<linux/cfi_types.h>)
#include <linux/cfi_types.h>
#else
#define SYM_TYPED_FUNC_START(name)	SYM_FUNC_START(name)
#endif

#include "../quiescent.h"

/*
 * massif_quiescent_prod(work): the module can be unloaded as soon as the prod is completed, although the thread may not
 * sleep for hours. So the last instruction here jumps to the kernel's complete(), which returns to the caller.
 */
SYM_TYPED_FUNC_START(massif_quiescent_prod)
	FRAME_BEGIN
	pushq	%rdi
	call	massif_quiescent_pass
	popq	%rdi
	FRAME_END
	addq	$MASSIF_PROD_PASSED, %rdi
	jmp	complete
SYM_FUNC_END(massif_quiescent_prod)
