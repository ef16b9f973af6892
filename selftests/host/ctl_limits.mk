# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_limits: $(addprefix $(O)/userland/ctl/,quantity.o obstacle.o message.o control.o guests.o door.o)
$(O)/selftests/host/ctl_limits: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a \
	| $(addprefix $(O)/selftests/targets/,heap_children ctl_static_waits)
