// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks functions that the CPU and the GPU share, and their loops.
#pragma once

#ifdef __CUDACC__
#define XCORR_HD __host__ __device__
#else
#define XCORR_HD
#endif

/// Before a loop of a kernel that runs once: code that is unrolled takes longer to fetch than it
/// saves.
#ifdef __CUDA_ARCH__
#define XCORR_ROLL _Pragma("unroll 1")
#else
#define XCORR_ROLL
#endif

/// Before a loop over a small array, which else would not stay in a kernel's registers.
#ifdef __CUDA_ARCH__
#define XCORR_UNROLL _Pragma("unroll")
#else
#define XCORR_UNROLL
#endif
