# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_torture: $(addprefix $(O)/selftests/lib/,kmod_session.o kmod_model.o torture_run.o)
