# SPDX-License-Identifier: GPL-2.0
# Builds massif.ko outside the kernel tree, for the kernel whose headers are in KDIR.
#
# Kbuild writes its objects beside the sources. So each kernel gets a tree of symbolic links,
# build/kmod/<release>/, and modules for several kernels can exist side by side. Building in place works as
# well: make -C KDIR M=$PWD.

KDIR      ?= $(or $(KERNELDIR),/lib/modules/$(shell uname -r)/build)
# Not include/config/kernel.release: Debian's headers have the upstream version there.
KRELEASE   = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
MODULE_DIR = $(O)/kmod/$(KRELEASE)

# Variables that a developer may pass on to the kernel's make. Others on our command line (O=, CFLAGS=) mean
# something else there and are not passed on. massif-have replaces the result of kmod/compat/probes.mk.
KBUILD_WORDS := $(foreach word,V W C LLVM ARCH CROSS_COMPILE massif-have,\
		  $(if $(filter command%,$(origin $(word))),$(word)='$($(word))'))
# The make to use for the kernel's makefiles, if it is not ours (for a tree that another compiler has built).
MODULE_MAKE  ?= $(MAKE)
KBUILD_MAKE   = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		$(MODULE_MAKE) -j$(JOBS) $(if $(findstring s,$(firstword -$(MAKEFLAGS))),-s) \
		--no-print-directory $(KBUILD_WORDS) \
		-C $(KDIR) M=$(abspath $(MODULE_DIR))

# What is compiled for the module; build.mk is for these targets only.
MODULE_FILES := find Kbuild kmod -type f \( -name '*.[chS]' -o -name Kbuild -o -name '*.sh' -o -name '*.mk' \) \
		! -name build.mk ! -name '*.mod.c'
DKMS_DIR      = $(DESTDIR)/usr/src/massif-$(VERSION)

.PHONY: modules modules_install install-dkms

#: modules          build/kmod/<release>/massif.ko, against KDIR
modules: module-links
	$(KBUILD_MAKE) modules

#: modules_install  install massif.ko where modprobe finds it, and group massif with its device
modules_install: modules
	$(KBUILD_MAKE) INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(call install_access,$(DESTDIR))
	@[ -n "$(DESTDIR)" ] || ! command -v systemd-sysusers >/dev/null || systemd-sysusers massif.conf

# The group massif, and its device.
define install_access
install -D -m 644 kmod/60-massif.rules $1/usr/lib/udev/rules.d/60-massif.rules
install -D -m 644 kmod/massif-sysusers.conf $1/usr/lib/sysusers.d/massif.conf
endef

# Afterwards: dkms install massif/VERSION.
#: install-dkms     sources of massif.ko into DESTDIR/usr/src/massif-VERSION, from where dkms builds it for each kernel
install-dkms:
	@$(MODULE_FILES) -print | while read -r file; do \
		install -D -m "$$([ -x "$$file" ] && echo 755 || echo 644)" "$$file" "$(DKMS_DIR)/$$file" || exit 1; \
	done
	sed 's|@VERSION@|$(VERSION)|' kmod/dkms.conf.in >$(DKMS_DIR)/dkms.conf
	$(call install_access,$(DESTDIR))

.PHONY: module-links
module-links:
	@if [ -z "$(KRELEASE)" ]; then \
		echo "modules: no kernel headers in $(KDIR)" >&2; \
		echo "modules: install linux-headers-$$(uname -r), or say where others are: make modules KDIR=DIR" >&2; \
		ls -d /lib/modules/*/build 2>/dev/null | sed 's/^/modules: there is KDIR=/' >&2; \
		exit 1; \
	fi
	@mkdir -p $(MODULE_DIR)
	@find $(MODULE_DIR) -xtype l -delete
	@$(MODULE_FILES) | while read -r file; do \
			case $$file in */*) mkdir -p "$(MODULE_DIR)/$${file%/*}" ;; esac; \
			[ "$(MODULE_DIR)/$$file" -ef "$$file" ] || ln -sf "$(CURDIR)/$$file" "$(MODULE_DIR)/$$file"; \
		done
