# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_xtree: $(addprefix $(O)/selftests/lib/,ctl_run.o massif_text.o)
