/* SPDX-License-Identifier: GPL-2.0 */
/* A value of LD_PRELOAD: names of libraries, with colons and blanks between them. Scripts add their own at either end. */
#ifndef MASSIF_PRELOAD_LIBRARY_LIST_H
#define MASSIF_PRELOAD_LIBRARY_LIST_H

/* Returns where @library is in @list, or NULL. */
char *mf_library_list_find(char *list, const char *library);

/* Removes the library at @place from @list, which becomes shorter; the bytes that become free are cleared. */
void mf_library_list_remove(char *list, char *place);

#endif
