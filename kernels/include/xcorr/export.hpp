// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks what the shared library exports: everything that these headers declare but do not define.
#pragma once

#define XCORR_API __attribute__((visibility("default")))
