# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/limits_table: $(O)/selftests/lib/ctl_run.o
