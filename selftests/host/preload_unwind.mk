# SPDX-License-Identifier: GPL-2.0
# libgcc's unwinder linked in, as in the shim: libunwind has functions of the same names. Calls of it
# are counted.
$(O)/selftests/host/preload_unwind: $(O)/preload/unwind.o $(O)/preload/readable.o $(O)/preload/memo.o \
	$(O)/preload/cfi.o $(O)/preload/rowcache.o $(O)/libmassif.a \
	| $(O)/selftests/targets/libunwind_small.so $(O)/selftests/targets/libunwind_large.so
# The program has holes between its segments, as many have; the shared objects have none.
LDLIBS-preload_unwind := -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code -Wl,--wrap=_Unwind_Backtrace -static-libgcc -lgcc_eh -lunwind -lpthread -ldl
$(O)/selftests/host/preload_unwind.o: MF_CFLAGS += -fomit-frame-pointer -Wno-vla
