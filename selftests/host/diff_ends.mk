# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/diff_ends: $(O)/selftests/lib/diff_run.o $(O)/selftests/lib/diff_end.o $(O)/selftests/lib/ctl_run.o \
	$(O)/selftests/lib/massif_text.o
