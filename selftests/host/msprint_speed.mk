# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/msprint_speed: $(O)/selftests/lib/msprint_oracle.o $(O)/selftests/lib/ctl_run.o
