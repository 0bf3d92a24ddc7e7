// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "match/tracker/filter.cpp"
#include <hwy/foreach_target.h>
#include "match/tracker/filter-inl.hpp"

#if HWY_ONCE
namespace xcorr::tracker {

HWY_EXPORT(make_filter);

std::unique_ptr<Filter> make_filter(double width, double height) {
  return HWY_DYNAMIC_DISPATCH(make_filter)(width, height);
}

}  // namespace xcorr::tracker
#endif
