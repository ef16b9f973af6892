/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Suppressions that a program contains for LeakSanitizer: the text that its function __lsan_default_suppressions returns,
 * which is read from the program's files without calling the function.
 */
#ifndef MASSIF_CTL_EMBEDDED_H
#define MASSIF_CTL_EMBEDDED_H

#include <stddef.h>

#include "elf/text_function.h"
#include "profile/object.h"

struct mf_embedded {
	enum mf_text_function found;
	char *text; /* if @found is MF_TEXT_FUNCTION_FOUND; owned */
};

/*
 * Searches the files of @objects, in this order, for the function. The first one that has it decides.
 * The files are read in an unprivileged child process (base/errand.h).
 */
void mf_embedded_read(const struct mf_object *objects, size_t n, struct mf_embedded *embedded);

void mf_embedded_deinit(struct mf_embedded *embedded);

#endif
