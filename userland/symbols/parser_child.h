/* SPDX-License-Identifier: GPL-2.0 */
/* The child of a parser (parser.h). */
#ifndef MASSIF_SYMBOLS_PARSER_CHILD_H
#define MASSIF_SYMBOLS_PARSER_CHILD_H

#include "profile/object.h"
#include "symbols/reader.h"

/*
 * Gives up all rights, and answers questions about @object on @socket until its other end is closed. @cpu_s: as of
 * mf_confine(). To be called in a child that was forked for it.
 */
_Noreturn void mf_parser_child(const struct mf_object *object, const struct mf_reader_options *options, int socket,
			       unsigned int cpu_s);

#endif
