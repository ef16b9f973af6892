# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/msprint_golden: $(O)/selftests/lib/msprint_oracle.o
$(O)/selftests/host/msprint_golden: $(O)/selftests/lib/msprint_writer.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/msprint_golden.o: MF_CFLAGS += -Wno-missing-prototypes
