// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages of filters that learn on the CPU but for the channels, one thread per window or
// filter.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tracker/tracker.cpp"
#include <hwy/foreach_target.h>
#include "cpu/tracker/tracker-inl.hpp"

#if HWY_ONCE
#include "cpu/common/common.hpp"
#include "stages/tracker/filter_response.hpp"

namespace xcorr::cpu {
namespace tracker {

using namespace xcorr::tracker;

HWY_EXPORT(make_spectrum);
HWY_EXPORT(filter_update);
HWY_EXPORT(filter_response);

Status feature_fft(const stage::FeatureFft::Problem& p, const Device&,
                   const stage::FeatureFft::Buffers& b, PlanState*) {
  parallel_for(std::int64_t{0}, std::int64_t{p.windows}, [&](std::int64_t i) {
    if (b.looks[i].side == 0) return;
    HWY_DYNAMIC_DISPATCH(make_spectrum)
    (b.channels + i * cells * channels, b.energies + i * energy_parts,
     b.spectra + i * spectrum_floats);
  });
  return {};
}

Status filter_update_all(const stage::FilterUpdate::Problem& p, const Device&,
                         const stage::FilterUpdate::Buffers& b, PlanState*) {
  parallel_for(std::int64_t{0}, std::int64_t{p.training_samples}, [&](std::int64_t i) {
    const TrainingSample& training_sample = b.training_samples[i];
    const std::int64_t filter = training_sample.filter, at = filter * spectrum_floats;
    HWY_DYNAMIC_DISPATCH(filter_update)
    (b.seen + i * spectrum_floats, training_sample, b.shapes[filter], b.samples + samples_kept * at,
     b.next_samples + samples_kept * at, b.known + 2 * at, b.filters + 2 * at);
  });
  return {};
}

Status filter_response_all(const stage::FilterResponse::Problem& p, const Device&,
                           const stage::FilterResponse::Buffers& b, PlanState*) {
  parallel_for(std::int64_t{0}, std::int64_t{p.windows}, [&](std::int64_t i) {
    if (b.looks[i].side == 0) return;
    const std::int64_t filter = b.looks[i].filter;
    b.response_peaks[i] = HWY_DYNAMIC_DISPATCH(filter_response)(
        b.channels + i * cells * channels, b.energies + i * energy_parts, b.shapes[filter],
        b.filters + 2 * filter * spectrum_floats,
        p.priors > 0 ? b.priors + i % p.priors * cells : nullptr);
  });
  return {};
}

constexpr Variant<stage::FeatureFft> feature_fft_table[] = {
    {{.name = "feature_fft", .backend = Backend::cpu, .features = Feature::f32},
     {.launch = feature_fft}},
};
constexpr Variant<stage::FilterUpdate> filter_update_table[] = {
    {{.name = "filter_update", .backend = Backend::cpu, .features = Feature::f32},
     {.launch = filter_update_all}},
};
constexpr Variant<stage::FilterResponse> filter_response_table[] = {
    {{.name = "filter_response", .backend = Backend::cpu, .features = Feature::f32},
     {.launch = filter_response_all}},
};

}  // namespace tracker

Family tracker_family() {
  return Family(tracker::feature_fft_table, tracker::filter_update_table,
                tracker::filter_response_table);
}

}  // namespace xcorr::cpu
#endif
