# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_reload: $(addprefix $(O)/selftests/lib/,kmod_session.o kmod_module.o)
