# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_stream: $(O)/selftests/lib/pages_stream.o $(O)/libmassif.a
LDLIBS-pages_stream := -ldw -lelf -liberty -lunwind-generic -lunwind -ldeflate
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/pages_stream.o: MF_CFLAGS += -Wno-missing-prototypes
