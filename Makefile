# SPDX-License-Identifier: GPL-2.0
#
# The front door. What the module is made of is in Kbuild; how things are done is in scripts/.

.DEFAULT_GOAL := module
.PHONY: module install uninstall run test test-full test-debug soak bench deb help clean

# Passed on through the environment, as given on the command line or in it.
export B DRIVER EFA_CACHE EFA_MIRROR INSTALL_MOD_PATH JSON KDIR KERNEL SOAK T V

# A variable on the command line that the target does not use is a mistake, and not to be ignored.
takes = @$(foreach name,$(filter-out $(1),B DRIVER INSTALL_MOD_PATH JSON KDIR KERNEL SOAK T),$(if \
	$(filter command,$(origin $(name))),echo "error: make $@ takes no $(name): see make help" >&2; exit 1;)) :

module:
	$(call takes,DRIVER KDIR KERNEL T)
	@scripts/module

install:
	$(call takes,INSTALL_MOD_PATH KDIR KERNEL T)
	@scripts/install

uninstall:
	$(call takes,INSTALL_MOD_PATH KDIR)
	@scripts/uninstall

run:
	$(call takes,DRIVER JSON KDIR KERNEL T)
	@scripts/run

test:
	$(call takes,DRIVER JSON KDIR KERNEL T)
	@scripts/test short

test-full:
	$(call takes,DRIVER JSON KDIR KERNEL T)
	@scripts/test full

test-debug:
	$(call takes,DRIVER JSON KDIR KERNEL T)
	@scripts/test debug

soak:
	$(call takes,DRIVER JSON KDIR KERNEL SOAK T)
	@scripts/soak

bench:
	$(call takes,B DRIVER JSON KDIR KERNEL T)
	@scripts/bench

deb:
	$(call takes,KDIR T)
	@scripts/deb

help:
	@scripts/help

clean:
	@rm -rf build
