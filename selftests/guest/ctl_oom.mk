# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/ctl_oom: $(O)/selftests/lib/ctl_run.o
