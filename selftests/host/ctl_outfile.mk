# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_outfile: $(O)/userland/ctl/files/outfile.o $(O)/userland/base/error.o
$(O)/selftests/host/ctl_outfile: $(O)/selftests/lib/ctl_run.o
LDLIBS-ctl_outfile := -lpthread
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/ctl_outfile.o: MF_CFLAGS += -Wno-missing-prototypes
