// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joins the families' tables. The lists of families are Meson's (kernels/meson.build), handed over
// as XCORR_CPU_FAMILIES and XCORR_CUDA_FAMILIES, so that a new family is named once.
#include "select/registry.hpp"

namespace xcorr {

#define XCORR_FAMILY(name) Family name##_family();
namespace cpu {
XCORR_CPU_FAMILIES
}
namespace cuda {
XCORR_CUDA_FAMILIES
}
#undef XCORR_FAMILY

const std::vector<const Variant*>& all_variants() {
  static const std::vector<const Variant*> all = [] {
    std::vector<const Variant*> list;
    const auto add = [&list](Family family) {
      for (const Variant& variant : family) list.push_back(&variant);
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

const Variant* find_variant(Stage stage, Backend backend, std::string_view name) {
  for (const Variant* variant : all_variants())
    if (variant->stage == stage && variant->backend == backend && name == variant->name)
      return variant;
  return nullptr;
}

}  // namespace xcorr
