# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_program: $(addprefix $(O)/userland/,ctl/launch/program.o elf/kind.o)
$(O)/selftests/host/ctl_program: $(addprefix $(O)/userland/,base/error.o base/regular.o) $(O)/selftests/lib/ctl_run.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/ctl_program.o: MF_CFLAGS += -Wno-missing-prototypes
