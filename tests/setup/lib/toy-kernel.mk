# SPDX-License-Identifier: GPL-2.0
# What set-up asks of a kernel source, in an instant. It drops the option that the file $TOY/lost names.

VERSION = 7
PATCHLEVEL = 3
SUBLEVEL = 9

release = $(VERSION).$(PATCHLEVEL).$(SUBLEVEL)$(LOCALVERSION)
modules = $(INSTALL_MOD_PATH)/lib/modules/$(release)

makefile:
	@mkdir -p $(O)/include/config
	@printf 'export KBUILD_OUTPUT = %s\ninclude %s/Makefile\n' $(O) $(CURDIR) >$(O)/Makefile
	@echo '$(release)' >$(O)/include/config/kernel.release

tinyconfig: makefile
	@echo CONFIG_TOY=y >$(O)/.config

olddefconfig: makefile
	@sed -i 's/^\(.*\)=n$$/# \1 is not set/' $(O)/.config
	@if [ -e $(TOY)/lost ]; then sed -i "/$$(cat $(TOY)/lost)/d" $(O)/.config; fi

prepare modules_prepare: makefile
	@mkdir -p $(O)/rust && touch $(O)/rust/libkernel.rmeta

bzImage modules: makefile
	@mkdir -p $(O)/arch/x86/boot && echo image >$(O)/arch/x86/boot/bzImage

modules_install:
	@mkdir -p $(modules)/kernel
