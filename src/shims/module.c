// SPDX-License-Identifier: GPL-2.0
/* Module metadata that the Rust module! macro does not know. */
#include <linux/module.h>

/* Nothing else pulls in the user space interface that makes the device usable. */
MODULE_SOFTDEP("pre: ib_uverbs");
MODULE_VERSION("0.1.0");
