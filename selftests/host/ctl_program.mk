# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_program: $(addprefix $(O)/userland/ctl/,program.o elf_kind.o)
$(O)/selftests/host/ctl_program: $(addprefix $(O)/userland/base/,error.o regular.o) $(O)/selftests/lib/ctl_run.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/ctl_program.o: MF_CFLAGS += -Wno-missing-prototypes
