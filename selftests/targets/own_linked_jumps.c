// SPDX-License-Identifier: GPL-2.0
// A program linked with a library in which each operator delete is a jump to another one.

#include <stddef.h>

void *_Znwm(size_t size);
void _ZdlPv(void *block);
void _ZdlPvm(void *block, size_t size);
void _ZdaPv(void *block);
void _ZdaPvm(void *block, size_t size);

int main(void)
{
	void *volatile kept;

	for (int i = 0; i < 10; i++) {
		_ZdlPv(_Znwm(70001));
		_ZdlPvm(_Znwm(70002), 70002);
		_ZdaPv(_Znwm(70003));
		_ZdaPvm(_Znwm(70004), 70004);
		kept = _Znwm(70005);
	}
	(void)kept;
	return 0;
}
