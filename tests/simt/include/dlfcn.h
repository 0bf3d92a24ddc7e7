// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library opens cuFFT and CUDA's driver by name; here they are what tests/simt/libraries.cpp
// has.
#pragma once

inline constexpr int RTLD_NOW = 2, RTLD_LOCAL = 0;

namespace simt {
/// A handle of one of these libraries; null for another.
void* open_library(const char* name);
/// Null when the emulation lacks it.
void* find_symbol(void* library, const char* name);
}  // namespace simt

inline void* dlopen(const char* name, int) { return simt::open_library(name); }
inline void* dlsym(void* library, const char* name) { return simt::find_symbol(library, name); }
