# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_storm: $(addprefix $(O)/selftests/lib/,kmod_session.o kmod_model.o kmod_module.o member.o member_life.o weather_files.o weather_machine.o weather_memory.o weather_tracers.o tracers.o bpf_fentry.o zram_swap.o)
