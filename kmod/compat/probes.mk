# SPDX-License-Identifier: GPL-2.0
# Finds out what this kernel has by compiling against its headers; never by its version number. probes/X.c
# compiles if and only if the kernel has X, and then MASSIF_HAVE_X is defined (X is the name of the file).

massif-probe = $(shell $(CC) $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) \
	$(KBUILD_CFLAGS_MODULE) -DKBUILD_MODNAME='"probe"' -fsyntax-only $(1) >/dev/null 2>&1 && \
	echo -DMASSIF_HAVE_$(basename $(notdir $(1))))

massif-have := $(foreach p,$(wildcard $(src)/kmod/compat/probes/*.c),$(call massif-probe,$(p)))
