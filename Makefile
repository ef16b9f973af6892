# SPDX-License-Identifier: GPL-2.0
# A thin front: every part describes itself in its own build.mk.

O        ?= build
CC       ?= gcc
CXX      ?= g++
AR       ?= ar
PREFIX   ?= /usr/local
DESTDIR  ?=

VERSION  := 0.1

WARNINGS := -Wall -Wextra -Wshadow -Wpointer-arith -Wundef -Wvla -Wformat=2 \
	    -Wno-format-nonliteral -Wno-unused-parameter -Wno-missing-field-initializers
CFLAGS   ?= -O2 -g
MF_CFLAGS := -std=gnu11 $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes \
	    -fno-strict-aliasing -D_GNU_SOURCE -DMASSIF_VERSION='"$(VERSION)"' \
	    -I. -Iuserland -Ikmod/include/uapi

# Parts add what they build to ALL and their files to install to INSTALL_*.
ALL      :=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(MF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# Position-independent, for the preload shim; its symbols are hidden unless said otherwise.
$(O)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(MF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
		-MMD -MP -c -o $@ $<

-include userland/build.mk preload/build.mk msprint/build.mk kmod/build.mk
-include Documentation/build.mk selftests/build.mk

.PHONY: all
all: $(ALL)

-include $(shell test -d $(O) && find $(O) -name '*.d')
