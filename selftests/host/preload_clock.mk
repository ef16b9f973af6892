# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_clock: $(O)/preload/core/clock.o $(O)/preload/core/definitions.o $(O)/preload/core/object_file.o $(O)/preload/core/descriptor.o $(O)/libmassif.a
