// SPDX-License-Identifier: GPL-2.0
// Fuzzes the demangling of names, including names that no compiler generates. An input is a name.

#include "selftests/fuzz/fuzz.h"

#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	free(mf_demangle(name));
	free(name);
	return 0;
}
