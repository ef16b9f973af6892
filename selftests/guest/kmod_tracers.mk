# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_tracers: $(addprefix $(O)/selftests/lib/,kmod_session.o kmod_model.o kmod_module.o torture_run.o tracers.o bpf_fentry.o)
