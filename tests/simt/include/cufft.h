// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of cuFFT's interface that the library uses; tests/simt/cufft.cpp computes it on the CPU.
#pragma once

#include <cstddef>

#include "cuda_runtime.h"

#define CUFFT_VERSION 12000

using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = float2;
using cufftDoubleComplex = double2;
using cufftHandle = int;

enum cufftType {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69,
};

enum cufftResult {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_INVALID_SIZE = 8,
};

inline constexpr int CUFFT_FORWARD = -1, CUFFT_INVERSE = 1;

extern "C" {
cufftResult cufftCreate(cufftHandle* plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int allocate);
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long* extents, long long* in_embed,
                                long long in_stride, long long in_distance, long long* out_embed,
                                long long out_stride, long long out_distance, cufftType type,
                                long long batch, std::size_t* work_bytes);
cufftResult cufftSetWorkArea(cufftHandle plan, void* area);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out);
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out);
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction);
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out,
                         int direction);
}
