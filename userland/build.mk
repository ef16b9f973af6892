# SPDX-License-Identifier: GPL-2.0
# massif-ctl and the library it stands on.

LIBMASSIF_SRCS := $(filter-out userland/ctl/%,$(wildcard userland/*/*.c))
LIBMASSIF      := $(O)/libmassif.a
# Asked once, and only where something is linked. libiberty has no file for pkg-config.
LIBMASSIF_LIBS  = $(eval LIBMASSIF_LIBS := $(shell $(PKG_CONFIG) --libs libdw libelf libunwind-generic libunwind liblzma libdeflate libzstd zlib) \
			-liberty -lpthread -ldl -lm)$(LIBMASSIF_LIBS)

CTL_SRCS := $(wildcard userland/ctl/*.c userland/ctl/*/*.c)

$(LIBMASSIF): $(LIBMASSIF_SRCS:%.c=$(O)/%.o)
	@rm -f $@
	$(call QUIET,AR)$(AR) rcs $@ $^

# All of massif-ctl but its main(): for tests of its parts.
$(O)/libmassif-ctl.a: $(patsubst %.c,$(O)/%.o,$(filter-out userland/ctl/main.c,$(CTL_SRCS)))
	@rm -f $@
	$(call QUIET,AR)$(AR) rcs $@ $^

$(O)/massif-ctl: $(CTL_SRCS:%.c=$(O)/%.o) $(LIBMASSIF)
	$(call QUIET,LD)$(CC) $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBMASSIF_LIBS)

ALL += $(O)/massif-ctl
