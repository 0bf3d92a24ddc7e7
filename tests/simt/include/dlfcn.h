// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library opens cuFFT by name; here its functions are those of tests/simt/cufft.cpp.
#pragma once

inline constexpr int RTLD_NOW = 2, RTLD_LOCAL = 0;

namespace simt {
/// A handle of the only library there is; null for another.
void* open_library(const char* name);
/// Null when the emulation lacks it.
void* find_symbol(void* library, const char* name);
}  // namespace simt

inline void* dlopen(const char* name, int) { return simt::open_library(name); }
inline void* dlsym(void* library, const char* name) { return simt::find_symbol(library, name); }
