# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_rescue: $(addprefix $(O)/selftests/lib/,ctl_run.o)
