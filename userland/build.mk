# SPDX-License-Identifier: GPL-2.0
# massif-ctl and the library it stands on.

LIBMASSIF_SRCS := $(filter-out userland/ctl/%,$(wildcard userland/*/*.c))
LIBMASSIF      := $(O)/libmassif.a
# Asked once, and only where something is linked. libiberty has no file for pkg-config.
LIBMASSIF_LIBS  = $(eval LIBMASSIF_LIBS := $(shell $(PKG_CONFIG) --libs libdw libelf libunwind-generic libunwind liblzma libdeflate libzstd zlib) \
			-liberty -lpthread -ldl -lm $(NCURSES_LIBS))$(LIBMASSIF_LIBS)

# massif-ctl top has a screen if there is ncurses (libncurses-dev). What was compiled without it is compiled again once
# it is there.
HAS_NCURSES := $(shell $(PKG_CONFIG) --exists ncursesw 2>/dev/null && echo yes)
NCURSES_LIBS = $(if $(HAS_NCURSES),$(shell $(PKG_CONFIG) --libs ncursesw))
NCURSES_OBJS := $(patsubst %,$(O)/userland/ctl/live/%.o,curses picker screen)

$(NCURSES_OBJS): $(O)/ncurses
ifeq ($(HAS_NCURSES),yes)
$(NCURSES_OBJS): MF_CFLAGS += -DMASSIF_HAS_NCURSES $(shell $(PKG_CONFIG) --cflags ncursesw)
endif

.PHONY: always
$(O)/ncurses: always
	@mkdir -p $(@D)
	@echo '$(HAS_NCURSES)' | cmp -s - $@ || echo '$(HAS_NCURSES)' >$@

# Where the modules of d3 are, the library for the charts of reports: D3=none builds without.
D3   ?= /usr/share/nodejs
HTML := $(O)/userland/html/web

$(HTML)/head.html: $(wildcard userland/html/web/* $(D3)/d3-*/dist/*.min.js)
	$(call QUIET,GEN)userland/html/web/assemble.sh $(HTML) $(D3)

$(addsuffix /userland/html/page.o,$(O) $(O)/fuzz/objects): $(HTML)/head.html
$(addsuffix /userland/html/page.o,$(O) $(O)/fuzz/objects): MF_CFLAGS += -DMF_HTML_WEB='"$(HTML)"'

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

# What shells complete the words of massif-ctl with: it knows its own.
COMPLETIONS := $(O)/completion/massif-ctl.bash $(O)/completion/massif-ctl.zsh $(O)/completion/massif-ctl.fish
$(COMPLETIONS): $(O)/completion/massif-ctl.%: $(O)/massif-ctl
	@mkdir -p $(@D)
	$(call QUIET,GEN)$< completion $* >$@
