# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/pages_programs: $(addprefix $(O)/selftests/lib/,ctl_run.o pages_trace.o pages_tree.o)
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/guest/pages_programs.o: MF_CFLAGS += -Wno-missing-prototypes
