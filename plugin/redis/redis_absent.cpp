// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Builds without hiredis do not have the element.
#include "redis/redis.h"

gboolean gst_element_register_xcorrredis(GstPlugin*) { return TRUE; }
