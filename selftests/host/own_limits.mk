# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/own_limits: $(addprefix $(O)/selftests/lib/,ctl_run.o massif_text.o)
