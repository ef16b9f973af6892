# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/ctl_attach: $(addprefix $(O)/selftests/lib/,ctl_run.o kmod_model.o)
