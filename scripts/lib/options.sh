# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What a person gives to make: KERNEL, DRIVER, T, JSON, KDIR.

# read_options DEFAULT_KERNEL: checks them and fills in what is not given.
read_options() {
    KERNEL=${KERNEL:-$1}
    DRIVER=${DRIVER:-rust}
    case $KERNEL in
    stock | test | debug) ;;
    *) die "KERNEL is stock, test or debug, not '$KERNEL'" ;;
    esac
    case $DRIVER in
    rust) ;;
    c) [ "$KERNEL" != stock ] || die "Debian's kernel has no C driver: use DRIVER=c with KERNEL=test or KERNEL=debug" ;;
    *) die "DRIVER is rust or c, not '$DRIVER'" ;;
    esac
    [[ ${T:-} =~ ^[A-Za-z0-9._-]*$ ]] || die "T is the beginning of a test's name, not '$T'"
    check_paths
}

# refuse_kdir TARGET: a build directory has no kernel image and no modules to run.
refuse_kdir() {
    [ -z "${KDIR:-}" ] || die "KDIR is for building the module alone: make $1 takes KERNEL=stock, test or debug"
}

# refuse_prefix TARGET: T selects tests, and there are none.
refuse_prefix() {
    [ -z "${T:-}" ] || die "T is for selecting tests: make $1 takes none"
}

# check_prefix SIZE: refuses a T that no suite's name fits, before anything is built.
check_prefix() {
    local suite suites=(lint vefa layout protocol runner setup compile kunit stock) long=(mutation rdma-core-13) wanted=${T:-}
    [ "$1" != full ] || suites+=("${long[@]}")
    # Only what runs in a guest, once on each of these machines; T may name one of them.
    [ "$1" != debug ] || { suites=(kunit) wanted=${wanted#cpus[24].} wanted=${wanted#iommu.}; }
    mapfile -t -O ${#suites[@]} suites < <(sed -n 's/^name = "\([^."]*\)\..*/\1/p; s/^label = "\(.*\)"$/\1/p' "$TREE/tests/guest/tests.toml" | sort -u)
    suites+=(rdma-core)
    for suite in "${suites[@]/%/.}"; do
        [[ $suite != "$wanted"* && $wanted != "$suite"* ]] || return 0
    done
    for suite in "${long[@]/%/.}"; do
        [[ $1 != short || ($suite != "$wanted"* && $wanted != "$suite"*) ]] ||
            die "$suite is a suite of make test-full: make test-full T=$T"
    done
    die "no test's name starts with '$T'; the suites are ${suites[*]/%/.}"
}

# check_json: before the work, not after it.
check_json() {
    [ -n "${JSON:-}" ] || return 0
    { : >>"$JSON"; } 2>/dev/null || die "cannot write JSON=$JSON"
    [ -s "$JSON" ] || rm -f "$JSON"
}
