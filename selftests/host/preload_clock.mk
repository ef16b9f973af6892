# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_clock: $(O)/preload/clock.o $(O)/preload/definitions.o $(O)/preload/object_file.o $(O)/preload/descriptor.o $(O)/libmassif.a
