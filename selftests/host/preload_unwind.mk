# SPDX-License-Identifier: GPL-2.0
# Steps with all registers are counted.
STACK_WALKS := $(O)/selftests/lib/stack_walks.o $(O)/preload/stack/unwind.o $(O)/preload/stack/step.o $(O)/preload/stack/full_walk.o \
	$(O)/preload/core/stack_bounds.o $(O)/preload/core/readable.o \
	$(O)/preload/stack/memo.o $(O)/preload/stack/cfi.o $(O)/preload/stack/eh_frame.o $(O)/preload/core/object_file.o \
	$(O)/preload/stack/rule_cache.o $(O)/preload/stack/rowcache.o $(O)/libmassif.a
LDLIBS-STACK_WALKS := -Wl,--wrap=mf_full_walk_step -lunwind -lpthread -ldl
$(O)/selftests/lib/stack_walks.o: MF_CFLAGS += -fomit-frame-pointer

$(O)/selftests/host/preload_unwind: $(STACK_WALKS) \
	| $(O)/selftests/targets/libunwind_small.so $(O)/selftests/targets/libunwind_large.so
# The program has holes between its segments, as many have; the shared objects have none.
LDLIBS-preload_unwind := -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code $(LDLIBS-STACK_WALKS)
$(O)/selftests/host/preload_unwind.o: MF_CFLAGS += -fomit-frame-pointer -Wno-vla

$(O)/selftests/host/preload_ways: $(STACK_WALKS)
LDLIBS-preload_ways = $(LDLIBS-STACK_WALKS)
$(O)/selftests/host/preload_ways.o: MF_CFLAGS += -fomit-frame-pointer
