# SPDX-License-Identifier: GPL-2.0
# ms_print: prints a massif.out file as a graph, a table and trees.

MSPRINT_SRCS := main.c options.c failure.c memory.c text.c number.c expand.c input.c output.c label.c \
		syntax.c profile.c summary.c graph.c tree.c table.c report.c
MSPRINT_OBJS := $(MSPRINT_SRCS:%.c=$(O)/msprint/%.o)

ALL += $(O)/ms_print

$(O)/ms_print: $(MSPRINT_OBJS)
	$(call QUIET,LD)$(CC) $(MF_CFLAGS) $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $(MSPRINT_OBJS) -lm \
		$(shell $(PKG_CONFIG) --libs zlib libzstd)
