// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Barriers of a block.
#pragma once

#include "execution.hpp"

inline void __syncthreads(simt::Where where = simt::Where::current()) {
  simt::block_barrier("__syncthreads", where);
}

inline int __syncthreads_or(int predicate, simt::Where where = simt::Where::current()) {
  return simt::block_barrier("__syncthreads_or", where, predicate).holds_for > 0;
}

inline int __syncthreads_and(int predicate, simt::Where where = simt::Where::current()) {
  const auto result = simt::block_barrier("__syncthreads_and", where, predicate);
  return result.holds_for == result.threads;
}

inline int __syncthreads_count(int predicate, simt::Where where = simt::Where::current()) {
  return simt::block_barrier("__syncthreads_count", where, predicate).holds_for;
}

// All memory is in order here.
inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}
