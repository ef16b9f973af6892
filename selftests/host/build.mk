# SPDX-License-Identifier: GPL-2.0
# Additional flags and objects of host and guest tests. Every test is linked with the archives of selftests/lib,
# massif-ctl without its main(), and libmassif; objects named here come before the archives.

LDLIBS-ctl_progress := -lutil

# The session with massif.ko is the test's own.
LDLIBS-rss_session_lost = $(addprefix -Wl$(comma)--wrap=mf_pages_,open fd enrol forked drain close next_ended find \
	resident each_resident) -Wl,--wrap=mf_touches_output_make

$(O)/selftests/host/client_header.o: MF_CFLAGS += -DSOURCE='"$(CURDIR)"'

# Prevents equal functions from being merged: the test needs two that differ only in their address.
$(O)/selftests/guest/kmod_known.o: MF_CFLAGS += -fno-ipa-icf

$(O)/selftests/host/kmod_btf: $(O)/kmod/btf.o

# The test's own symbolizer, which replaces the one in the archive.
$(O)/selftests/host/report_filter $(O)/selftests/host/report_tree: $(O)/selftests/lib/report_fake.o

# Without frame pointers, unwinding needs the tables. The nested frames use arrays of variable size.
$(addprefix $(O)/selftests/host/,pages_unwind.o preload_unwind.o preload_ways.o) $(O)/selftests/lib/stack_walks.o: \
	MF_CFLAGS += -fomit-frame-pointer -Wno-vla

# Parts of the shim, compiled with the usual flags.
$(O)/selftests/host/preload_clock: $(addprefix $(O)/preload/core/,clock.o definitions.o object_file.o descriptor.o)
$(O)/selftests/host/preload_definitions: $(addprefix $(O)/preload/core/,definitions.o object_file.o)
$(O)/selftests/host/preload_detour: $(addprefix $(O)/preload/,patch/code_detour.o patch/instruction.o patch/patch.o core/maps.o)
$(O)/selftests/host/preload_follow: $(addprefix $(O)/preload/,process/follow.o process/library_list.o core/readable.o)
$(O)/selftests/host/preload_instruction: $(O)/preload/patch/instruction.o
$(O)/selftests/host/preload_old_libc: $(addprefix $(O)/preload/core/,old_libc.o definitions.o object_file.o)
$(O)/selftests/host/preload_patch: $(addprefix $(O)/preload/,patch/patch.o core/maps.o) $(O)/selftests/lib/refuse_call.o
$(O)/selftests/host/preload_unwind $(O)/selftests/host/preload_ways: $(addprefix $(O)/preload/,stack/unwind.o stack/step.o \
	stack/full_walk.o stack/memo.o stack/cfi.o stack/eh_frame.o stack/rule_cache.o stack/rowcache.o \
	core/stack_bounds.o core/readable.o core/object_file.o)
# The test has its own objects instead of those that the dynamic linker has loaded.
$(O)/selftests/host/preload_slots: $(O)/preload/patch/slots.o
LDLIBS-preload_slots := -Wl,--wrap=dl_iterate_phdr
# Wrapped, to count the steps with all registers.
LDLIBS-preload_ways   := -Wl,--wrap=mf_full_walk_step
# Leaves gaps between the segments of the program, as in many programs; shared objects have none.
LDLIBS-preload_unwind := $(LDLIBS-preload_ways) -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code

# Programs that are no targets: without them heap_verify skips cases.
$(O)/selftests/host/heap_verify: | $(addprefix $(O)/selftests/bench/,churn deep mt tree exc)
