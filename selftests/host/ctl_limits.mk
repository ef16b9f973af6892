# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_limits: $(addprefix $(O)/userland/,ctl/message/quantity.o ctl/launch/shim_unsupported.o ctl/message/message.o ctl/control/server.o ctl/heap/join_conns.o ctl/heap/join_server.o)
$(O)/selftests/host/ctl_limits: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a \
	| $(addprefix $(O)/selftests/targets/,heap_children ctl_static_waits)
