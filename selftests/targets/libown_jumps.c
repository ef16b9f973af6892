// SPDX-License-Identifier: GPL-2.0
// A library with its own operators new and delete, in the form that results when a linker folds identical code: most
// of them are just a jump to another one. The jump is too short to be replaced by a patch.

#include <stdlib.h>

void *_Znwm(size_t size);

void *_Znwm(size_t size)
{
	return malloc(size);
}

/* Written as bytes, so that the assembler does not use longer jumps. */
__asm__(".text\n.p2align 4\n"
	".globl _ZdlPv\n.type _ZdlPv, @function\n_ZdlPv:\n"
	"	jmp	free@plt\n"
	"	.size	_ZdlPv, . - _ZdlPv\n"
	"	int3\n"
	".globl _ZdlPvm\n.type _ZdlPvm, @function\n_ZdlPvm:\n"
	"	.byte	0xeb, 0xf8\n"
	"	.size	_ZdlPvm, . - _ZdlPvm\n"
	".globl _ZdaPv\n.type _ZdaPv, @function\n_ZdaPv:\n"
	"	.byte	0xeb, 0xfc\n"
	"	.size	_ZdaPv, . - _ZdaPv\n"
	".globl _ZdaPvm\n.type _ZdaPvm, @function\n_ZdaPvm:\n"
	"	.byte	0xeb, 0xfc\n"
	"	.size	_ZdaPvm, . - _ZdaPvm\n"
	"	ret\n");
