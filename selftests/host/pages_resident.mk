# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_resident: $(O)/libmassif.a
LDLIBS-pages_resident := -lunwind-generic -lunwind -ldeflate
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/pages_resident.o: MF_CFLAGS += -Wno-missing-prototypes
