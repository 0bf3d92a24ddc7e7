// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The variants' declared data: names, features, ranks.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "select/select.hpp"
#include "stages/fields/deform.hpp"
#include "stages/fields/fit.hpp"
#include "stages/fields/predict.hpp"
#include "stages/fields/smooth_field.hpp"
#include "stages/fields/spline.hpp"
#include "stages/fields/validate.hpp"
#include "stages/fields/window_search.hpp"
#include "stages/image/edges.hpp"
#include "stages/image/filter.hpp"
#include "stages/image/luma.hpp"
#include "stages/poses/edge_refine.hpp"
#include "stages/poses/fused_coarse_search.hpp"
#include "stages/poses/local_rescore.hpp"
#include "stages/poses/pose_confirm.hpp"
#include "stages/poses/pose_refine.hpp"
#include "stages/poses/pyramid_down.hpp"
#include "stages/tracker/histograms.hpp"

namespace {

using namespace xcorr;

constexpr Feature of_the_future = Feature(feature_count);

/// No call of these tests reaches a device.
Device a_device(Backend backend) {
  return backend == Backend::cpu ? Device{} : Device{backend, 0, 90, 132, "a GPU"};
}

MatchProblem match_of(ElementType type, Size templates, int count = 2, int max_peaks = 1,
                      Size region = {200, 150}) {
  MatchProblem p;
  p.correlate = dense_problem(type, Form::one_to_many, region, templates, 1, count,
                              valid_shifts(region, templates));
  p.products = p.correlate.output_type();
  p.max_peaks = max_peaks;
  p.distance_x = p.distance_y = 8;
  return p;
}

TEST(Variants, NamesAreUniqueInAStageAndBackend) {
  std::set<std::string> ids;
  for (const auto& [stage, variant] : all_variants()) {
    const std::string id =
        std::string(stage) + '/' + name_of(variant->backend) + '/' + variant->name;
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

TEST(Variants, NoneKnowsAFeatureThatDoesNotExist) {
  for (const auto& [stage, variant] : all_variants())
    EXPECT_FALSE(variant->features.has(of_the_future)) << stage << ' ' << variant->name;
}

/// Adds an unknown feature to a problem that a variant can do: it must refuse. The names of those
/// that could do the problem go to `tried`.
template <class Stage>
void ask_for_more(const typename Stage::Problem& problem, std::set<const VariantInfo*>& tried) {
  for (const auto* variant : variants_of<Stage>()) {
    const Device device = a_device(variant->backend);
    if (!variant->able(problem, device)) continue;
    tried.insert(variant);
    EXPECT_FALSE(variant->able(problem, problem.features().with(of_the_future), device))
        << Stage::name << ' ' << variant->name;
  }
}

TEST(Variants, RefuseAFeatureThatTheyDoNotName) {
  std::set<const VariantInfo*> tried;
  for (const ElementType type : {ElementType::u8, ElementType::u16, ElementType::f32})
    for (const Size templates : {Size{16, 16}, Size{48, 48}, Size{80, 80}, Size{100, 100}}) {
      const MatchProblem p = match_of(type, templates);
      ask_for_more<stage::Correlate>(p.correlation(), tried);
      ask_for_more<stage::WindowSums>(p.window_sums(), tried);
      ask_for_more<stage::Normalise>(p.normalisation(), tried);
      ask_for_more<stage::WindowScores>(p.normalisation(), tried);
      ask_for_more<stage::CoarseSearch>(p.coarse_searching(0), tried);
      ask_for_more<stage::FusedCoarseSearch>(p.coarse_searching(0), tried);
      ask_for_more<stage::Peaks>(p.peaks(), tried);
      ask_for_more<stage::Refine>(p.refinement(), tried);
      ask_for_more<stage::Confirm>(p.confirming(), tried);
      ask_for_more<stage::SubpixelRefine>(p.subpixel_refining(), tried);
      ask_for_more<stage::Search>(p.search(), tried);
      ask_for_more<stage::OverhangScores>(p.overhang_scoring(), tried);
      ask_for_more<stage::TemplateSums>(p.template_sums(), tried);
    }
  MatchProblem masked = match_of(ElementType::u8, {16, 16});
  masked.masking.counted = 100;
  ask_for_more<stage::WindowSums>(masked.window_sums(), tried);
  MatchProblem approximate = match_of(ElementType::u8, {48, 48});
  approximate.products = ElementType::f32;
  ask_for_more<stage::Correlate>(approximate.correlation(), tried);
  stage::Correlate::Problem many{{match_of(ElementType::u8, {16, 16}).correlate}, ElementType::u32};
  many.correlate.form = Form::n_to_m;
  many.correlate.lefts = 8;
  many.correlate.rights = 8;
  ask_for_more<stage::Correlate>(many, tried);
  ask_for_more<stage::Blend>({ElementType::u8, {16, 16}, 16, 0.5f}, tried);
  ask_for_more<stage::PyramidDown>({{32, 32}, {16, 16}, 32, 16}, tried);
  ask_for_more<stage::WarpTemplate>({{{16, 16}}, {}, {16, 16}, 1}, tried);
  ask_for_more<stage::LocalRescore>(
      {.frame = {64, 64}, .pitch = 64, .pyramid = {{16, 16}}, .most = {16, 16}}, tried);
  stage::LocalRescore::Problem weighted{
      .frame = {64, 64}, .pitch = 64, .pyramid = {{16, 16}}, .most = {16, 16}};
  weighted.masking.counted = 100;
  weighted.masking.weighted = true;
  ask_for_more<stage::LocalRescore>(weighted, tried);
  ask_for_more<stage::PoseConfirm>({.frame = {64, 64}, .pitch = 64, .pyramid = {{16, 16}}}, tried);
  ask_for_more<stage::SelectCandidates>({{64, 64}}, tried);
  ask_for_more<stage::CollectCandidates>({}, tried);
  ask_for_more<stage::PruneCandidates>({}, tried);
  ask_for_more<stage::Smooth>({{16, 16}}, tried);
  ask_for_more<stage::EdgeRefine>({{16, 16}, 16}, tried);
  ask_for_more<stage::PoseRefine>({{64, 64}, 64, {16, 16}, {}, 1}, tried);
  stage::WindowSearch::Problem window_search{{64, 64}, 64, 64};
  window_search.window = 16;
  window_search.range = 8;
  ask_for_more<stage::WindowSearch>(window_search, tried);
  for (const ElementType type : {ElementType::u16, ElementType::f32}) {
    window_search.type = type;
    ask_for_more<stage::WindowSearch>(window_search, tried);
  }
  ask_for_more<stage::Validate>({{8, 8}}, tried);
  ask_for_more<stage::SmoothField>({{8, 8}}, tried);
  ask_for_more<stage::Predict>({{64, 64}, {{3, 3}, 0, 0, 16, 16}, {{3, 3}, 0, 0, 16, 16}}, tried);
  ask_for_more<stage::Deform>({{64, 64}, 0, 64, 5, {{3, 3}, 0, 0, 16, 16}}, tried);
  ask_for_more<stage::Spline>({{64, 64}, 64}, tried);
  ask_for_more<stage::Fit>({{64, 64}, 64, 16}, tried);
  ask_for_more<stage::Edges>({{64, 64}, {0, 0, 64, 64}, 64, 64, 4096}, tried);
  ask_for_more<stage::Luma>({{16, 16}, {{packed_rgb(4, 0, 1, 2), 64}}, 16}, tried);
  ask_for_more<stage::FeatureMaps>({{64, 64}, 64, {}, 1}, tried);
  ask_for_more<stage::FeatureFft>({}, tried);
  ask_for_more<stage::FilterUpdate>({}, tried);
  ask_for_more<stage::FilterResponse>({}, tried);
  ask_for_more<stage::HistogramUpdate>({1, 1, {64, 64}}, tried);
  ask_for_more<stage::HistogramPrior>({1, 1, {64, 64}}, tried);
  const auto axis = gaussian_weights(1).value();
  const auto weights = filter_weights(ElementType::u8, axis, axis, ElementType::f32).value();
  ask_for_more<stage::Filter>(
      {ElementType::u8, {64, 64}, {0, 0, 64, 64}, 1, 64, 4096, 0, 0, &weights}, tried);
  // The remaining ones need cuFFT, or particular weights or sizes.
  EXPECT_GE(tried.size() * 10, all_variants().size() * 9);
}

template <class Stage>
std::string winner(const typename Stage::Problem& problem, Backend backend) {
  const auto variant = select_variant<Stage>(problem, a_device(backend));
  return variant.ok() ? variant.value()->name : variant.status().message();
}

stage::Filter::Problem filter_of(const FilterWeights& weights) {
  return {ElementType::u8, {640, 480}, {0, 0, 640, 480}, 1, 640, 0, 0, 0, &weights};
}

/// Where a block has less than 100 KiB of shared memory, tensor cores take no rights of more than
/// 96 columns and 64 rows.
TEST(Variants, DotProductWhereTensorCoresLackMemory) {
  if (variants_on<stage::Search>(Backend::cuda).empty()) GTEST_SKIP() << "built without CUDA";
  for (const int width : {100, 112, 128})
    for (const int capability : {86, 89, 120}) {
      const auto variant =
          select_variant<stage::Correlate>(match_of(ElementType::u8, {width, 80}).correlation(),
                                           {Backend::cuda, 0, capability, 84, "a GPU"}, "auto");
      ASSERT_TRUE(variant.ok());
      EXPECT_TRUE(std::string_view(variant.value()->name).starts_with("dot_product"))
          << width << " on " << capability << ": " << variant.value()->name;
    }
}

/// In colour and on edges what is found for one peak takes no surfaces, as in luma, where 32 bits
/// hold all sums.
TEST(Variants, OnePeakInPlanesIsSearchedAsInLuma) {
  if (variants_on<stage::Search>(Backend::cuda).empty()) GTEST_SKIP() << "built without CUDA";
  const auto name_for = [](int side, int count, int planes, int max_peaks = 1) {
    MatchProblem p = match_of(ElementType::u8, {side, side}, count, max_peaks, {1920, 1080});
    p.correlate.planes = planes;
    if (planes == edge_planes) p.method = Method::orientation;
    const auto kernel = select_matching(p, a_device(Backend::cuda), "auto");
    return kernel.ok() && kernel.value().search ? std::string(kernel.value()->name) : "";
  };
  for (const int count : {1, 32})
    for (const int side : {16, 32, 64})
      for (const int planes : {edge_planes, color_planes}) {
        EXPECT_NE(name_for(side, count, 1), "") << side << ' ' << count;
        EXPECT_EQ(name_for(side, count, planes), name_for(side, count, 1))
            << side << ' ' << count << ' ' << planes;
      }
  EXPECT_EQ(name_for(182, 1, edge_planes), "");
  EXPECT_EQ(name_for(64, 1, edge_planes, 5), "");
  EXPECT_EQ(name_for(149, 1, color_planes), "");
  EXPECT_EQ(name_for(64, 1, color_planes, 5), "");
}

/// Among able variants without measurements, the rank decides.
TEST(Variants, WinnersByRank) {
  const MatchProblem u8 = match_of(ElementType::u8, {16, 16}),
                     f32 = match_of(ElementType::f32, {16, 16});
  EXPECT_EQ(winner<stage::WindowSums>(u8.window_sums(), Backend::cpu), "window_sums");
  EXPECT_EQ(winner<stage::Refine>(u8.refinement(), Backend::cpu), "refine");
  EXPECT_EQ(winner<stage::Peaks>(u8, Backend::cpu), "peaks");
  EXPECT_EQ(winner<stage::Normalise>(u8.normalisation(), Backend::cpu), "normalise");
  const auto narrow = gaussian_weights(1).value(), wide = gaussian_weights(3).value();
  const auto r3 = filter_weights(ElementType::u8, narrow, narrow, ElementType::f32).value();
  const auto r9 = filter_weights(ElementType::u8, wide, wide, ElementType::f32).value();
  EXPECT_EQ(winner<stage::Filter>(filter_of(r3), Backend::cpu), "separable");
  if (variants_on<stage::Search>(Backend::cuda).empty()) GTEST_SKIP() << "built without CUDA";
  EXPECT_EQ(winner<stage::WindowSums>(u8.window_sums(), Backend::cuda), "strips");
  EXPECT_EQ(winner<stage::WindowSums>(f32.window_sums(), Backend::cuda), "window_sums");
  EXPECT_EQ(winner<stage::Refine>(u8.refinement(), Backend::cuda), "refine_bytes");
  EXPECT_EQ(winner<stage::Refine>(f32.refinement(), Backend::cuda), "refine");
  EXPECT_EQ(winner<stage::Filter>(filter_of(r3), Backend::cuda), "separable.fused_r3");
  EXPECT_EQ(winner<stage::Filter>(filter_of(r9), Backend::cuda), "separable.fused");
}

}  // namespace
