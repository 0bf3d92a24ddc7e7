// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What colours say of a target: bins, where a box of the target's colours is, and what they do not
// tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "select/select.hpp"
#include "stages/tracker/histograms.hpp"
#include "tracking/filters/color_frame.hpp"

namespace api {
namespace {

using namespace xcorr;
using namespace xcorr::tracker;

/// The bin of a picture's only pixel.
int bin_of(Colors colors, std::uint8_t first, std::uint8_t second, std::uint8_t third) {
  stage::ColorWindows one{1, 1, {1, 1}, {colors, {}}};
  return one.bin_at({&first, &second, &third}, {0, 0});
}
int bin_of_rgb(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return bin_of(Colors::rgb, red, green, blue);
}

/// The histograms of one target, by the CPU's variants.
class HistogramModel {
 public:
  void learn(const ColorFrame& frame, const Cropping& window, const FilterShape& shape) {
    launch<stage::HistogramUpdate>(frame, window, shape, histograms_.get(), histograms_.get(),
                                   &likeness_);
  }
  void find(const ColorFrame& frame, const Cropping& window, const FilterShape& shape,
            float* prior) const {
    launch<stage::HistogramPrior>(frame, window, shape, histograms_.get(), prior);
  }
  double separation() const { return histograms_->separation(); }

 private:
  template <class Stage, class... Rest>
  static void launch(const ColorFrame& frame, const Cropping& window, const FilterShape& shape,
                     Rest... rest) {
    const Device device = open_device(Backend::cpu).value();
    const Look look{0, 0, window_size, 1, 0};
    const std::uint8_t* planes[color_planes] = {};
    for (int i = 0; const ColorPlane& plane : frame.planes())
      planes[i++] = static_cast<const std::uint8_t*>(plane.data);
    const typename Stage::Problem problem{1, 1, {200, 160}, frame.layout()};
    const Variant<Stage>* variant = nullptr;
    ASSERT_TRUE(choose_into(variant, problem, device).ok());
    ASSERT_TRUE(
        variant
            ->launch(problem, device,
                     {{{}, planes[0], planes[1], planes[2], &look, &window, &shape}, rest...},
                     nullptr)
            .ok());
  }

  std::unique_ptr<ColorHistograms> histograms_ = std::make_unique<ColorHistograms>();
  double likeness_ = 0;
};

TEST(ColorBins, AreWithinAHistogramAndDiffer) {
  std::vector<bool> used(color_bins);
  for (int red = 0; red < 256; red += 5)
    for (int green = 0; green < 256; green += 5)
      for (int blue = 0; blue < 256; blue += 5) {
        const int bin = bin_of_rgb(static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                                   static_cast<std::uint8_t>(blue));
        ASSERT_GE(bin, 0);
        ASSERT_LT(bin, color_bins);
        used[bin] = true;
      }
  EXPECT_GT(std::ranges::count(used, true), 700);
  EXPECT_NE(bin_of_rgb(200, 30, 30), bin_of_rgb(30, 200, 30));
  EXPECT_NE(bin_of_rgb(200, 30, 30), bin_of_rgb(30, 30, 200));
  // A camera's noise hardly colours what is gray.
  EXPECT_EQ(bin_of_rgb(100, 100, 100), bin_of_rgb(102, 100, 99));
  for (int chroma = -128; chroma < 127; ++chroma)
    EXPECT_LE(chroma_level(chroma), chroma_level(chroma + 1));
  EXPECT_EQ(chroma_level(-128), 0);
  EXPECT_EQ(chroma_level(127), chroma_levels - 1);
  EXPECT_EQ(bin_of(Colors::none, 255, 0, 0), gray_levels - 1);
}

/// Packed pixels of a frame, blue first, with gray noise everywhere.
class Scene {
 public:
  static constexpr Size size{200, 160};
  Scene() : pixels_(std::size_t{3} * size.width * size.height) {
    unsigned random = 1;
    for (std::size_t i = 0; i < pixels_.size(); i += 3) {
      random = random * 1664525 + 1013904223;
      const auto gray = static_cast<std::uint8_t>(90 + (random >> 24) % 64);
      pixels_[i] = pixels_[i + 1] = pixels_[i + 2] = gray;
    }
  }
  void paint(int left, int top, int width, int height, std::uint8_t red, std::uint8_t green,
             std::uint8_t blue) {
    for (int y = top; y < top + height; ++y)
      for (int x = left; x < left + width; ++x) {
        std::uint8_t* const at = &pixels_[std::size_t(3) * (y * size.width + x)];
        at[0] = blue, at[1] = green, at[2] = red;
      }
  }
  ColorFrame frame() const {
    return ColorFrame({pixels_.data(), ElementType::u8, size, 3 * size.width, Memory::host,
                       packed_rgb(3, 2, 1, 0)});
  }

 private:
  std::vector<std::uint8_t> pixels_;
};

/// A window of 160 pixels round a place, so that a pixel of it is one of the frame.
Cropping window_round(double x, double y, double angle = 0) {
  return {Look{x, y, window_size, 1, 0}, angle};
}

class HistogramModelTest : public testing::Test {
 protected:
  void learn_red_at(int left, int top) {
    Scene scene;
    scene.paint(left, top, 24, 40, 190, 40, 40);
    model_.learn(scene.frame(), window_round(left + 12, top + 20), shape_);
  }
  int find(const ColorFrame& frame, double x, double y, double angle = 0) {
    model_.find(frame, window_round(x, y, angle), shape_, prior_.data());
    return static_cast<int>(std::ranges::max_element(prior_) - prior_.begin());
  }
  HistogramModel model_;
  FilterShape shape_{6, 10};  // cells: 24 x 40 pixels
  std::vector<float> prior_ = std::vector<float>(cells);
};

TEST_F(HistogramModelTest, FindsItsColoursWhereTheyHaveMoved) {
  learn_red_at(80, 60);
  EXPECT_GT(model_.separation(), 0.9);
  Scene scene;
  scene.paint(80 + 12, 60 - 8, 24, 40, 190, 40, 40);
  const int cells_right = 3, cells_above = 2;
  EXPECT_EQ(find(scene.frame(), 92, 80), (grid - cells_above) * grid + cells_right);
  EXPECT_NEAR(*std::ranges::max_element(prior_), 0.4, 0.02);
  EXPECT_LT(prior_[20 * grid + 20], 0.02);  // half a window away, where none of it is
}

TEST_F(HistogramModelTest, FindsItsColoursTurned) {
  learn_red_at(80, 60);
  Scene scene;
  scene.paint(72, 68, 40, 24, 190, 40, 40);  // by a quarter
  EXPECT_EQ(find(scene.frame(), 92, 80, 90), 0);
  EXPECT_GT(prior_[0], 0.38);
  find(scene.frame(), 92, 80);
  EXPECT_LT(prior_[0], 0.3);  // upright, it reaches beyond the box
}

TEST_F(HistogramModelTest, LearnsWhatItHasChangedTo) {
  learn_red_at(80, 60);
  Scene scene;
  scene.paint(80, 60, 24, 40, 40, 60, 190);
  find(scene.frame(), 92, 80);
  EXPECT_LT(prior_[0], 0.02);
  for (int i = 0; i < 60; ++i) model_.learn(scene.frame(), window_round(92, 80), shape_);
  EXPECT_EQ(find(scene.frame(), 92, 80), 0);
  EXPECT_GT(prior_[0], 0.35);
}

TEST_F(HistogramModelTest, CountsLittleWhereTheSurroundingsHaveItsColours) {
  model_.learn(Scene().frame(), window_round(92, 80), shape_);
  EXPECT_LT(model_.separation(), 0.25);
  find(Scene().frame(), 60, 70);
  EXPECT_LT(*std::ranges::max_element(prior_), 0.1);
}

TEST_F(HistogramModelTest, GrayPicturesCountByTheirLuma) {
  std::vector<std::uint8_t> pixels(std::size_t{200} * 160, 100);
  const auto frame = [&] {
    return ColorFrame({pixels.data(), ElementType::u8, {200, 160}, 200, Memory::host, {}});
  };
  for (int y = 60; y < 100; ++y)
    for (int x = 80; x < 104; ++x) pixels[y * 200 + x] = 220;
  model_.learn(frame(), window_round(92, 80), shape_);
  EXPECT_GT(model_.separation(), 0.9);
  EXPECT_EQ(find(frame(), 92, 80), 0);
  EXPECT_EQ(find(frame(), 92 - 8, 80), 2);
}

/// As NV12: pairs of chroma, one for four pixels. The target differs by these alone.
TEST_F(HistogramModelTest, SeesColoursInPlanesOfChroma) {
  constexpr int width = 200, height = 160;
  const std::vector<std::uint8_t> luma(std::size_t{width} * height, 120);
  std::vector<std::uint8_t> chroma(std::size_t{width} * height / 2, 128);
  MatrixView view{luma.data(), ElementType::u8, {width, height}, width, Memory::host, {}};
  view.color[0] = {luma.data(), width};
  for (int i = 0; i < 2; ++i) view.color[1 + i] = {chroma.data(), width, 2, i, 1, 1};
  const auto paint = [&](int left, int top, std::uint8_t blue, std::uint8_t red) {
    for (int y = top / 2; y < (top + 40) / 2; ++y)
      for (int x = left / 2; x < (left + 24) / 2; ++x) {
        chroma[y * width + 2 * x] = blue;
        chroma[y * width + 2 * x + 1] = red;
      }
  };
  paint(80, 60, 100, 190);
  model_.learn(ColorFrame(view), window_round(92, 80), shape_);
  EXPECT_GT(model_.separation(), 0.9);
  EXPECT_EQ(find(ColorFrame(view), 92 - 8, 80), 2);
  paint(80, 60, 190, 100);  // of another colour, as bright
  find(ColorFrame(view), 92, 80);
  EXPECT_LT(prior_[0], 0.02);
  std::ranges::fill(view.color, ColorPlane{});
  EXPECT_EQ(ColorFrame(view).layout().colors, Colors::none);  // without planes it is gray
}

}  // namespace
}  // namespace api
