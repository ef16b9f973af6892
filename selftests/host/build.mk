# SPDX-License-Identifier: GPL-2.0
# What a test of this machine or of the guest is built with beyond its own file, and the archives that all have:
# selftests/lib, massif-ctl without its main(), and libmassif. Objects named here come before the archives.

LDLIBS-ctl_progress := -lutil

$(O)/selftests/host/client_header.o: MF_CFLAGS += -DSOURCE='"$(CURDIR)"'

# Frames as the assembler leaves them, and no two functions made one.
$(O)/selftests/guest/kmod_known.o: MF_CFLAGS += -fno-ipa-icf

$(O)/selftests/host/kmod_btf: $(O)/kmod/btf.o

# A symbolizer of the test's own, so that the real one is not taken from the archive.
$(O)/selftests/host/report_filter $(O)/selftests/host/report_tree: $(O)/selftests/lib/report_fake.o

# Where frame pointers are kept, unwinding is no art; the nested frames have different sizes.
$(addprefix $(O)/selftests/host/,pages_unwind.o preload_unwind.o preload_ways.o) $(O)/selftests/lib/stack_walks.o: \
	MF_CFLAGS += -fomit-frame-pointer -Wno-vla

# Parts of the shim, compiled as any other code.
$(O)/selftests/host/preload_clock: $(addprefix $(O)/preload/core/,clock.o definitions.o object_file.o descriptor.o)
$(O)/selftests/host/preload_definitions: $(addprefix $(O)/preload/core/,definitions.o object_file.o)
$(O)/selftests/host/preload_detour: $(addprefix $(O)/preload/,patch/code_detour.o patch/instruction.o patch/patch.o core/maps.o)
$(O)/selftests/host/preload_follow: $(addprefix $(O)/preload/,process/follow.o core/readable.o)
$(O)/selftests/host/preload_instruction: $(O)/preload/patch/instruction.o
$(O)/selftests/host/preload_patch: $(addprefix $(O)/preload/,patch/patch.o core/maps.o) $(O)/selftests/lib/refuse_protection.o
$(O)/selftests/host/preload_unwind $(O)/selftests/host/preload_ways: $(addprefix $(O)/preload/,stack/unwind.o stack/step.o \
	stack/full_walk.o stack/memo.o stack/cfi.o stack/eh_frame.o stack/rule_cache.o stack/rowcache.o \
	core/stack_bounds.o core/readable.o core/object_file.o)
# Steps with all registers are counted.
LDLIBS-preload_ways   := -Wl,--wrap=mf_full_walk_step
# The program has holes between its segments, as many have; the shared objects have none.
LDLIBS-preload_unwind := $(LDLIBS-preload_ways) -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code
