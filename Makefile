# SPDX-License-Identifier: GPL-2.0
# A thin front: every part describes itself in its own build.mk.

O        ?= build
# Not ?=: make has values of its own for these.
ifeq ($(origin CC),default)
CC       := gcc
endif
ifeq ($(origin CXX),default)
CXX      := g++
endif
AR       ?= ar
PREFIX   ?= /usr/local
DESTDIR  ?=
JOBS     ?= $(shell nproc)

# The one place that has the number is kmod/release.h, which the module is compiled with wherever its sources are.
VERSION  := $(shell sed -n 's/^\#define MASSIF_RELEASE[[:space:]]*"\(.*\)"/\1/p' kmod/release.h)

# The name under which ms_print is installed, with its manual page: /usr/bin may have Valgrind's.
MS_PRINT     ?= ms_print
PKGCONFIGDIR ?= $(PREFIX)/lib/pkgconfig

WARNINGS := -Wall -Wextra -Wshadow -Wpointer-arith -Wundef -Wvla -Wformat=2 \
	    -Wno-format-nonliteral -Wno-unused-parameter -Wno-missing-field-initializers
CFLAGS   ?= -O2 -g
MF_CFLAGS := -std=gnu11 $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes \
	    -fno-strict-aliasing -D_GNU_SOURCE -DMASSIF_VERSION='"$(VERSION)"' \
	    -I. -Iuserland -Ipreload -Ikmod/include/uapi

# SANITIZE=address,undefined or =thread: massif-ctl, ms_print and the tests are built with these. What
# runs in other programs, the shim and the targets, is not.
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)

# Parts add what they build to ALL: programs, installed to PREFIX/bin, and shared objects that
# these load, to PREFIX/lib/massif. Of what is not built they add
#   INSTALL_INCLUDE  headers, to PREFIX/include/massif
#   INSTALL_PC       what pkg-config reads, NAME.pc.in, to PKGCONFIGDIR
#   INSTALL_MAN      manual pages, to PREFIX/share/man/manN by their name's suffix
ALL             :=
INSTALL_INCLUDE :=
INSTALL_PC      :=
INSTALL_MAN     :=

# What a command is, in a word, and what it makes; V=1 shows the command itself, and make -s neither.
QUIET = $(if $(filter-out 0,$(V)),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,printf '  %-4s  %s\n' $1 $(@:$(O)/%=%);))

# The libraries, as pkg-config knows them, and what has no file for it.
LIBRARIES := libdw libelf libunwind-generic libunwind liblzma libdeflate zlib libzstd
PKG_CONFIG ?= pkg-config

# Where cd would look for folders that are here, and print their names.
unexport CDPATH

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# Before anything is compiled: one line says what is missing.
$(O)/libraries: Makefile
	@mkdir -p $(@D)
	@command -v $(PKG_CONFIG) >/dev/null || { echo "massif needs pkg-config: make packages installs what is missing" >&2; exit 1; }
	@$(PKG_CONFIG) --print-errors --exists $(LIBRARIES) || \
		{ echo "massif needs $(LIBRARIES): make packages installs what is missing (Debian)" >&2; exit 1; }
	@$(PKG_CONFIG) --cflags $(LIBRARIES) >$@

$(O)/%.o: %.c | $(O)/libraries
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) $(MF_CFLAGS) $(CFLAGS) $(SANITIZE_FLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# What has the release's number in it is compiled anew for the next release.
$(patsubst %.c,$(O)/%.o,$(shell grep -rl --include='*.c' MASSIF_VERSION userland msprint selftests)): kmod/release.h

# Position-independent, for the preload shim; its symbols are hidden unless said otherwise.
$(O)/pic/%.o: %.c | $(O)/libraries
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) $(MF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
		$(SHIM_CFLAGS) -MMD -MP -c -o $@ $<

-include userland/build.mk preload/build.mk msprint/build.mk kmod/build.mk
-include Documentation/build.mk selftests/build.mk

.PHONY: all programs install install-headers uninstall dist release-check clean distclean help

#: all              programs and tests
all: programs tests

#: programs         massif-ctl, the preload shim, ms_print
programs: $(ALL)

INSTALL_BIN := $(filter-out %.so,$(ALL))
INSTALL_LIB := $(filter %.so,$(ALL))

bindir     := $(DESTDIR)$(PREFIX)/bin
libdir     := $(DESTDIR)$(PREFIX)/lib/massif
includedir := $(DESTDIR)$(PREFIX)/include/massif
pcdir      := $(DESTDIR)$(PKGCONFIGDIR)
mandir     := $(DESTDIR)$(PREFIX)/share/man

# Where shells look for completions below PREFIX, by the suffix of those in COMPLETIONS.
completion.bash := share/bash-completion/completions/massif-ctl
completion.zsh  := share/zsh/site-functions/_massif-ctl
completion.fish := share/fish/vendor_completions.d/massif-ctl.fish

# Below PREFIX: folders that a system need not have had before the installation.
OWN_DIRS := lib/pkgconfig share/bash-completion/completions share/bash-completion share/zsh/site-functions share/zsh \
	share/fish/vendor_completions.d share/fish $(sort $(foreach file,$(INSTALL_MAN),share/man/man$(subst .,,$(suffix $(file)))))

# $(call installed,FILE): its name where it is installed, which for ms_print may be another.
installed = $(patsubst ms_print%,$(MS_PRINT)%,$(notdir $1))
# $(call completion_path,FILE): where a completion is installed.
completion_path = $(DESTDIR)$(PREFIX)/$(completion$(suffix $1))
# $(call man_path,FILE): where a manual page is installed.
man_path  = $(mandir)/man$(subst .,,$(suffix $1))/$(call installed,$1)

#: install          into DESTDIR/PREFIX (MS_PRINT=: another name for ms_print)
install: programs install-headers $(COMPLETIONS)
	$(foreach file,$(INSTALL_BIN),install -D -m 755 $(file) $(bindir)/$(call installed,$(file)) &&) \
	$(foreach file,$(INSTALL_LIB),install -D -m 755 -t $(libdir) $(file) &&) \
	$(foreach file,$(COMPLETIONS),install -D -m 644 $(file) $(call completion_path,$(file)) &&) \
	$(foreach file,$(INSTALL_MAN),install -D -m 644 $(file) $(call man_path,$(file)) &&) :

#: install-headers  only the header with which programs report their own memory to massif
install-headers:
	$(foreach file,$(INSTALL_INCLUDE),install -D -m 644 -t $(includedir) $(file) &&) \
	$(foreach file,$(INSTALL_PC),install -D -m 644 /dev/null $(pcdir)/$(notdir $(file:.in=)) && \
		sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $(file) \
			>$(pcdir)/$(notdir $(file:.in=)) &&) :

#: uninstall        take it away again
uninstall:
	rm -f $(foreach file,$(INSTALL_BIN),$(bindir)/$(call installed,$(file)))
	rm -rf $(libdir) $(includedir)
	rm -f $(foreach file,$(INSTALL_PC),$(pcdir)/$(notdir $(file:.in=)))
	rm -f $(foreach file,$(INSTALL_MAN),$(call man_path,$(file))) $(foreach file,$(COMPLETIONS),$(call completion_path,$(file)))
	@# Folders that are empty now go, too, but never those that every system has.
	-@cd $(DESTDIR)$(PREFIX) 2>/dev/null && \
		rmdir $(OWN_DIRS) 2>/dev/null; \
		case "$(DESTDIR)$(PREFIX)" in /usr | /usr/local) ;; *) \
			rmdir lib include share/man share bin 2>/dev/null; \
			cd "$(DESTDIR)/" && rmdir -p --ignore-fail-on-non-empty "./$(PREFIX)" 2>/dev/null ;; \
		esac; :

# A release is a commit, so this needs git; what is in the tarball does not.
#: dist             a tarball of HEAD: massif-VERSION.tar.xz in O
dist:
	@mkdir -p $(O)
	sed 's|@VERSION@|$(VERSION)|' Documentation/massif.spec.in >$(O)/massif.spec
	git archive --prefix=massif-$(VERSION)/ --add-file=$(O)/massif.spec HEAD | xz -9 >$(O)/massif-$(VERSION).tar.xz
	@echo $(O)/massif-$(VERSION).tar.xz

#: release-check    check that HEAD can be tagged as a release, and print how
release-check:
	@selftests/tools/release-check.sh

#: clean            remove what was built, keep what was downloaded
clean:
	@if [ -d $(O) ]; then find $(O) -mindepth 1 -maxdepth 1 ! -name guest ! -name kselftest -exec rm -rf {} +; fi

#: distclean        remove everything
distclean:
	rm -rf $(O)

#: help             this list
help:
	@echo 'make TARGET [VARIABLE=value]...'
	@echo
	@sed -n 's/^#: /  /p' $(filter Makefile %/build.mk,$(MAKEFILE_LIST))
	@echo
	@echo '  O=DIR            where everything is built (build)'
	@echo '  D3=DIR           modules of d3, for the charts of reports (/usr/share/nodejs); none: no charts'
	@echo '  KDIR=DIR         kernel headers for massif.ko (those of the running kernel)'
	@echo '  PREFIX=, DESTDIR= for install (/usr/local)'
	@echo "  TESTS='pattern'  of a test's name, as in TESTS='host/model* pages*'"
	@echo '  JOBS=N           parallel jobs of check and demo (all processors)'
	@echo '  V=1              show every command'

# A part may be absent from a tree; its targets then do nothing.
tests:

-include $(shell test -d $(O) && find $(O) -type f -name '*.d' -not -path '$(O)/guest/*' -not -path '$(O)/kmod/*' -not -path '$(O)/packages/*' \
	-not -path '$(O)/builds/*' -not -path '$(O)/userlands/*')
