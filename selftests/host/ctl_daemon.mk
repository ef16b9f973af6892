# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_daemon: $(addprefix $(O)/selftests/lib/,ctl_run.o)
