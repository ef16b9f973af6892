# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/pages_start: $(O)/selftests/lib/ctl_run.o
