// SPDX-License-Identifier: GPL-2.0
// Makes texts from files and programs safe to print to a terminal.

#include "base/printable.h"

void mf_printable_clean(char *text)
{
	unsigned char *to = (unsigned char *)text;

	for (const unsigned char *at = to; *at; at++) {
		if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) {
			*to++ = '?';
			at++;
		} else {
			*to++ = *at < ' ' || *at == 0x7f ? '?' : *at;
		}
	}
	*to = '\0';
}
