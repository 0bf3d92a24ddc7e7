// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages of filters that learn on the CPU but for the channels, a window or a filter a thread.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tracker.cpp"
#include <hwy/foreach_target.h>
#include "cpu/tracker-inl.hpp"

#if HWY_ONCE
#include "cpu/common.hpp"
#include "stages/answer.hpp"

namespace xcorr::cpu {
namespace tracker {

using namespace xcorr::tracker;

HWY_EXPORT(make_spectrum);
HWY_EXPORT(learn);
HWY_EXPORT(answer);

Status spectra(const stage::Spectra::Problem& p, const Device&, const stage::Spectra::Buffers& b,
               PlanState*) {
  tbb::parallel_for(std::int64_t{0}, std::int64_t{p.windows}, [&](std::int64_t i) {
    if (b.looks[i].side == 0) return;
    HWY_DYNAMIC_DISPATCH(make_spectrum)
    (b.channels + i * cells * channels, b.energies + i * grid, b.spectra + i * spectrum_floats);
  });
  return {};
}

Status learn_all(const stage::Learn::Problem& p, const Device&, const stage::Learn::Buffers& b,
                 PlanState*) {
  tbb::parallel_for(std::int64_t{0}, std::int64_t{p.lessons}, [&](std::int64_t i) {
    const auto [filter, first] = b.lessons[i];
    const std::int64_t at = std::int64_t{filter} * spectrum_floats;
    HWY_DYNAMIC_DISPATCH(learn)
    (b.seen + i * spectrum_floats, first, b.shapes[filter], b.means + at, b.next_means + at,
     b.filters + 2 * at);
  });
  return {};
}

Status answer_all(const stage::Answer::Problem& p, const Device&, const stage::Answer::Buffers& b,
                  PlanState*) {
  tbb::parallel_for(std::int64_t{0}, std::int64_t{p.windows}, [&](std::int64_t i) {
    if (b.looks[i].side == 0) return;
    const std::int64_t filter = b.looks[i].filter;
    b.answers[i] =
        HWY_DYNAMIC_DISPATCH(answer)(b.channels + i * cells * channels, b.energies + i * grid,
                                     b.shapes[filter], b.filters + 2 * filter * spectrum_floats);
  });
  return {};
}

constexpr Variant<stage::Spectra> spectra_table[] = {
    {{"spectra", Backend::cpu, Feature::f32}, supports_all, spectra},
};
constexpr Variant<stage::Learn> learn_table[] = {
    {{"learn", Backend::cpu, Feature::f32}, supports_all, learn_all},
};
constexpr Variant<stage::Answer> answer_table[] = {
    {{"answer", Backend::cpu, Feature::f32}, supports_all, answer_all},
};

}  // namespace tracker

Family tracker_family() {
  return Family(tracker::spectra_table, tracker::learn_table, tracker::answer_table);
}

}  // namespace xcorr::cpu
#endif
