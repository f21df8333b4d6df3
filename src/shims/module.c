// SPDX-License-Identifier: GPL-2.0
/* Module metadata that the Rust module! macro does not know. */
#include <linux/module.h>

/*
 * For tools that ask for a release of amzn-drivers: the one whose features the driver has (Documentation/versions.md);
 * then its own version, which the device is told, too (src/admin/features.rs).
 */
MODULE_VERSION("3.3.0+rs0.2.0");
