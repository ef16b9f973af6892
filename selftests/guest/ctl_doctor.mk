# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/ctl_doctor: $(O)/selftests/lib/ctl_run.o
