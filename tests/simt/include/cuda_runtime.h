// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of CUDA that this project's kernels and their host code use, for a CPU: found before the
// toolkit's header of the same name when .cu files are compiled as C++ for the tests. Anything that
// kernels newly use belongs in the file of its topic in simt/.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

#include "simt/atomics.hpp"
#include "simt/block.hpp"
#include "simt/execution.hpp"
#include "simt/math.hpp"
#include "simt/runtime_api.hpp"
#include "simt/vector_types.hpp"
#include "simt/warp.hpp"
