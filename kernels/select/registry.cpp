// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joins the families' tables. kernels/meson.build writes families.hpp, which defines
// XCORR_CPU_FAMILIES and XCORR_CUDA_FAMILIES, so that a new family is named once and nothing but
// this file is compiled for it again.
#include "select/registry.hpp"

#include "families.hpp"

namespace xcorr {

#define XCORR_FAMILY(name) Family name##_family();
namespace cpu {
XCORR_CPU_FAMILIES
}
namespace cuda {
XCORR_CUDA_FAMILIES
}
#undef XCORR_FAMILY

const std::vector<Family::Entry>& all_variants() {
  static const std::vector<Family::Entry> all = [] {
    std::vector<Family::Entry> list;
    const auto add = [&list](const Family& family) {
      list.insert(list.end(), family.entries().begin(), family.entries().end());
    };
#define XCORR_FAMILY(name) add(name##_family());
    {
      using namespace cpu;
      XCORR_CPU_FAMILIES
    }
    {
      using namespace cuda;
      XCORR_CUDA_FAMILIES
    }
#undef XCORR_FAMILY
    return list;
  }();
  return all;
}

}  // namespace xcorr
