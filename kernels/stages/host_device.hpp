// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks functions that the CPU and the GPU share.
#pragma once

#ifdef __CUDACC__
#define XCORR_HD __host__ __device__
#else
#define XCORR_HD
#endif
