# SPDX-License-Identifier: GPL-2.0
# massif-ctl and the library it stands on.

LIBMASSIF_SRCS := $(filter-out userland/ctl/%,$(wildcard userland/*/*.c))
LIBMASSIF      := $(O)/libmassif.a
LIBMASSIF_LIBS := -ldw -lelf -liberty -lunwind-generic -lunwind -llzma -ldeflate -lpthread -ldl -lm

CTL_SRCS := $(wildcard userland/ctl/*.c userland/ctl/*/*.c)

$(LIBMASSIF): $(LIBMASSIF_SRCS:%.c=$(O)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

# All of massif-ctl but its main(): for tests of its parts.
$(O)/libmassif-ctl.a: $(patsubst %.c,$(O)/%.o,$(filter-out userland/ctl/main.c,$(CTL_SRCS)))
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/massif-ctl: $(CTL_SRCS:%.c=$(O)/%.o) $(LIBMASSIF)
	$(CC) $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBMASSIF_LIBS)

ALL += $(O)/massif-ctl
