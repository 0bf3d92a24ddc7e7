// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joins the tables of the files here, whose list comes from meson.build as XCORR_ORACLE_FAMILIES.
#include "oracle/oracle.hpp"

namespace xcorr {

#define XCORR_FAMILY(name) Family name##_family();
namespace cpu {
XCORR_ORACLE_FAMILIES
}
#undef XCORR_FAMILY

const std::vector<Family::Entry>& oracle::variants() {
  static const std::vector<Family::Entry> all = [] {
    using namespace cpu;
    std::vector<Family::Entry> list;
    const auto add = [&list](const Family& family) {
      list.insert(list.end(), family.entries().begin(), family.entries().end());
    };
#define XCORR_FAMILY(name) add(name##_family());
    XCORR_ORACLE_FAMILIES
#undef XCORR_FAMILY
    return list;
  }();
  return all;
}

}  // namespace xcorr
