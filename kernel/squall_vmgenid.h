/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SQUALL_VMGENID_H
#define SQUALL_VMGENID_H

#include <linux/types.h>

/* The two words of the ID, as long as squall_vmgenid is loaded. */
const u64 *squall_vmgenid_id(void);

#endif
