#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A bad value on make's command line is refused in one line, before any work.

# shellcheck source=tests/setup/lib/toy.sh
. "$(dirname "$0")/lib/toy.sh"

unset B KERNEL DRIVER T JSON KDIR SOAK V MAKEFLAGS
cd "$TREE"
expect_one_line "KERNEL is stock, test or debug, not 'tset'" make KERNEL=tset
expect_one_line "DRIVER is rust or c, not 'C'" make run DRIVER=C
expect_one_line 'no C driver' make run DRIVER=c
expect_one_line "T is the beginning of a test's name" make test T='a b'
expect_one_line 'cannot write JSON=/nonexistent/x.json' make run JSON=/nonexistent/x.json
expect_one_line 'KDIR is for building the module alone' make run KDIR=/
expect_one_line 'T is for selecting tests' make run T=field.A6
expect_one_line "no test's name starts with 'nosuch'; the suites are lint\. .*field\." make test T=nosuch
expect_one_line "no test's name starts with 'fieldA6'" make test T=fieldA6
expect_one_line 'mutation\. is a suite of make test-full: make test-full T=mutation\.ah' make test T=mutation.ah
expect_one_line "no test's name starts with 'mutation\.'" make test-debug T=mutation.
expect_one_line 'make test takes no SOAK: see make help' make test SOAK=60
expect_one_line 'make run takes no B' make run B=qp_pair
expect_one_line 'make deb takes no JSON' make deb JSON=x.json
expect_one_line 'make install takes no DRIVER' make install DRIVER=c
expect_one_line "no test's name starts with 'lint\.'" make test-debug T=lint.
expect_one_line "no test's name starts with 'cpus3\.field'" make test-debug T=cpus3.field
expect_one_line "SOAK is a number of seconds, not '10m'" make soak SOAK=10m
expect_one_line "there is no line 'nosuch'; there are ah_cached_pair .* module_size$" make bench B=nosuch
expect_one_line "there is no line 'ah_growth'" make bench B=ah_growth
for script in bench deb in-root install kernel-build-dir module path remove run setup soak test uninstall; do
    expect_one_line "usage: scripts/$script" "scripts/$script" --nosuch
    said=$("scripts/$script" --help 2>&1) || flunk "scripts/$script --help fails"
    [[ $said = "usage: scripts/$script"* && $(wc -l <<<"$said") = 1 ]] || flunk "scripts/$script --help says: $said"
done
expect_one_line 'usage: scripts/in-root' scripts/in-root --in
expect_one_line "there is no item 'kernel'" scripts/setup kernel
EFA_CACHE="$TOY/a b" expect_one_line 'has a space or a colon .*: set EFA_CACHE' make
mkdir "$TOY/a tree"
cp -r Makefile scripts "$TOY/a tree"
expect_one_line 'has a space or a colon .*: move the tree$' make --no-print-directory -C "$TOY/a tree"
EFA_CACHE=cache expect_one_line 'must be an absolute path' make
[ ! -e "$EFA_CACHE" ] || flunk "work was begun"
