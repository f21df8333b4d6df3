// SPDX-License-Identifier: GPL-2.0
/* Module metadata that the Rust module! macro does not know. */
#include <linux/module.h>

MODULE_VERSION("0.1.0");
