# SPDX-License-Identifier: GPL-2.0
#
# How the rdma crate is built: included by the Kbuild file of each module that has it.

# What a module has to link: the crate, and the C that it calls.
rdma-shims := rhashtable device memory percpu umem uverbs
ifeq ($(CONFIG_KUNIT),y)
rdma-shims += layout
endif
rdma-objects := src/rdma/rdma.o $(patsubst %,src/shims/%.o,$(rdma-shims))

# Nothing outside of the module calls its functions. A crate of a kernel is a library to rustc, which
# keeps each method of a trait for callers elsewhere, also where all callers have it inlined.
rustflags-y += $(call rustc-option,-Zcross-crate-inline-threshold=always)

RUSTFLAGS_src/rdma/rdma.o += --emit=metadata=$(obj)/src/rdma/librdma.rmeta
$(obj)/src/rdma/rdma.o: $(obj)/src/rdma/bindings_generated.rs

# rustc finds the generated bindings through this variable, so that a separate
# output directory (MO=) works too.
export RDMA_BINDINGS := $(abspath $(obj))/src/rdma/bindings_generated.rs

# The kernel's own list of compiler flags that bindgen's clang does not know.
$(eval $(shell sed -n '/^bindgen_skip_c_flags :=/,/[^\\]$$/p' $(srctree)/rust/Makefile | tr -d '\\\n\t'))
rdma-bindgen-target-x86 := x86_64-linux-gnu
rdma-bindgen-target-arm64 := aarch64-linux-gnu
ifdef CONFIG_CC_IS_CLANG
rdma-bindgen-c-flags = $(c_flags)
else
rdma-bindgen-c-flags = $(filter-out $(bindgen_skip_c_flags), $(c_flags)) -w \
	--target=$(rdma-bindgen-target-$(SRCARCH))
endif

# The kernel's parameters but for the custom enums: their cfi_encoding attribute
# is not allowed outside the kernel's own crates. Nothing is generated that is
# not asked for: all other types stay the kernel crate's (see src/rdma/bindings.rs).
rdma-bindgen-parameters = $(shell grep -Ev '^\#|^$$|custom-enum' $(srctree)/rust/bindgen_parameters) \
	--no-recursive-allowlist \
	--use-core --ctypes-prefix ffi \
	--no-layout-tests --no-debug '.*' --enable-function-attribute-detection
rdma-bindgen-clang-flags = $(rdma-bindgen-c-flags) -fno-builtin -D__BINDGEN__ -DMODULE

# What the kernel crate's bindings lack.
quiet_cmd_rdma_bindgen = BINDGEN $@
      cmd_rdma_bindgen = $(BINDGEN) $< $(rdma-bindgen-parameters) \
	--allowlist-file '.*/include/(uapi/)?rdma/.*' \
	--allowlist-file '.*/include/linux/(rhashtable|irq_poll|dim|cgroup_rdma|if_link|pci-tph)\.h' \
	--allowlist-type '(ifla_vf_.*|iphdr)' \
	--allowlist-file '(.*/)?include/rdma_shims\.h' \
	--default-non-copy-union-style manually_drop --rust-target 1.85 \
	-o $@ -- $(rdma-bindgen-clang-flags)
$(obj)/src/rdma/bindings_generated.rs: $(src)/include/rdma_bindings.h $(src)/include/rdma_shims.h FORCE
	$(call if_changed_dep,rdma_bindgen)
targets += src/rdma/bindings_generated.rs
