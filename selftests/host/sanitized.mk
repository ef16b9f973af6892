# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/sanitized: $(O)/selftests/lib/ctl_run.o
