# SPDX-License-Identifier: GPL-2.0
# Ask the kernel's own headers, with the compiler, what this kernel has; never its version number.
# probes/X.c compiles if and only if the kernel has X; then MASSIF_HAVE_X is defined (X as in the
# name of the file).

massif-probe = $(shell $(CC) $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) \
	$(KBUILD_CFLAGS_MODULE) -DKBUILD_MODNAME='"probe"' -fsyntax-only $(1) >/dev/null 2>&1 && \
	echo -DMASSIF_HAVE_$(basename $(notdir $(1))))

massif-have := $(foreach p,$(wildcard $(src)/kmod/compat/probes/*.c),$(call massif-probe,$(p)))

# What no header tells: symbols that this kernel exports, or not. MASSIF_EXPORTS_X if it does.
massif-wanted := vm_brk_flags
massif-have += $(addprefix -DMASSIF_EXPORTS_, $(shell \
	awk 'BEGIN { n = split("$(massif-wanted)", names); for (i = 1; i <= n; i++) want[names[i]] } \
	     $$2 in want { print $$2 }' $(objtree)/Module.symvers 2>/dev/null))
