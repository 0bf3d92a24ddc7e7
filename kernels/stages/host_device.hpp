// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks functions that the CPU and the GPU share, and their loops.
#pragma once

#ifdef __CUDACC__
#define XCORR_HD __host__ __device__
/// Before a loop over a small array, which else would not stay in registers.
#define XCORR_UNROLL _Pragma("unroll")
#else
#define XCORR_HD
#define XCORR_UNROLL
#endif
