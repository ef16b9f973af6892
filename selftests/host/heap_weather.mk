# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_weather: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/massif_text.o
