# SPDX-License-Identifier: GPL-2.0
#
# The front door. What the module is made of is in Kbuild; how things are done is in scripts/.

.DEFAULT_GOAL := module
.PHONY: module install uninstall run test test-full test-debug soak bench deb help clean

# Passed on through the environment, as given on the command line or in it.
export B DRIVER EFA_CACHE EFA_MIRROR INSTALL_MOD_PATH JSON KDIR KERNEL SOAK T V

module:
	@scripts/module

install:
	@scripts/install

uninstall:
	@scripts/uninstall

run:
	@scripts/run

test:
	@scripts/test short

test-full:
	@scripts/test full

test-debug:
	@scripts/test debug

soak:
	@scripts/soak

bench:
	@scripts/bench

deb:
	@scripts/deb

help:
	@scripts/help

clean:
	@rm -rf build
