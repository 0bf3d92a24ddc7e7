// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks what the shared library exports: all that these headers declare and do not define.
#pragma once

#define XCORR_API __attribute__((visibility("default")))
