# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_control: $(addprefix $(O)/selftests/lib/,ctl_run.o diff_end.o)
