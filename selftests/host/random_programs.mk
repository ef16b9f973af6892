# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/random_programs: $(O)/selftests/lib/random_case.o $(O)/selftests/lib/diff_run.o $(O)/selftests/lib/diff_end.o \
	$(O)/selftests/lib/ctl_run.o
