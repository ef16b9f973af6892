# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_unwind: $(O)/selftests/lib/pages_self.o $(O)/libmassif.a | $(O)/selftests/targets/libheap_no_rules.so
LDLIBS-pages_unwind := -lunwind-generic -lunwind -ldeflate -ldl
# Where frame pointers are kept, unwinding is no art; the nested frames have different sizes; the
# harness defines functions that nothing declares.
$(O)/selftests/host/pages_unwind.o: MF_CFLAGS += -fomit-frame-pointer -Wno-vla -Wno-missing-prototypes
