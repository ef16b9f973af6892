/* SPDX-License-Identifier: GPL-2.0 */
/* The child process of a parser (parser.h). */
#ifndef MASSIF_SYMBOLS_PARSER_CHILD_H
#define MASSIF_SYMBOLS_PARSER_CHILD_H

#include "profile/object.h"
#include "symbols/reader.h"

/*
 * Drops all privileges, then answers questions about @object on @socket until the other end is closed. @cpu_s: as for
 * mf_confine(). Call this in a child that was forked for this purpose.
 */
_Noreturn void mf_parser_child(const struct mf_object *object, const struct mf_reader_options *options, int socket,
			       unsigned int cpu_s);

#endif
