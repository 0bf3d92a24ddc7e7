// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Atomic operations: one thread runs at a time without interruption, so plain ones suffice. For the
// types that CUDA supports.
#pragma once

namespace simt {

template <class T, class F>
T exchange(T* address, F new_value) {
  const T old = *address;
  *address = new_value(old);
  return old;
}

}  // namespace simt

#define SIMT_ATOMIC(name, type, expression)                    \
  inline type name(type* address, type value) {                \
    return simt::exchange(address, [value](type old) -> type { \
      (void)old;                                               \
      return expression;                                       \
    });                                                        \
  }
#define SIMT_ATOMICS_OF_INTEGERS(type)                                                      \
  SIMT_ATOMIC(atomicMin, type, old < value ? old : value)                                   \
  SIMT_ATOMIC(atomicMax, type, old < value ? value : old)                                   \
  SIMT_ATOMIC(atomicAnd, type, old& value)                                                  \
  SIMT_ATOMIC(atomicOr, type, old | value)                                                  \
  SIMT_ATOMIC(atomicXor, type, old ^ value)                                                 \
  SIMT_ATOMIC(atomicExch, type, value)                                                      \
  inline type atomicCAS(type* address, type compare, type value) {                          \
    return simt::exchange(address, [=](type old) { return old == compare ? value : old; }); \
  }

SIMT_ATOMICS_OF_INTEGERS(int)
SIMT_ATOMICS_OF_INTEGERS(unsigned int)
SIMT_ATOMICS_OF_INTEGERS(unsigned long long)
SIMT_ATOMICS_OF_INTEGERS(long long)
// Sums of integers wrap around.
SIMT_ATOMIC(atomicAdd, int,
            static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
SIMT_ATOMIC(atomicAdd, unsigned int, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int,
            static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
SIMT_ATOMIC(atomicSub, unsigned int, old - value)
SIMT_ATOMIC(atomicExch, float, value)
SIMT_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)
#undef SIMT_ATOMICS_OF_INTEGERS
#undef SIMT_ATOMIC
