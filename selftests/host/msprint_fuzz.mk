# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/msprint_fuzz: $(O)/selftests/lib/msprint_oracle.o
$(O)/selftests/host/msprint_fuzz: $(O)/selftests/lib/msprint_writer.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/msprint_fuzz.o: MF_CFLAGS += -Wno-missing-prototypes
