// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many windows at once: what is found in each is, bit for bit, what a Matcher for it alone finds,
// on every backend, whichever windows are searched together.
#include <xcorr/window_matcher.hpp>

#include "color_frames.hpp"
#include "match/window_batch.hpp"

namespace api {
namespace {

constexpr Size frame_size{96, 80};

class WindowMatcherTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    matcher.emplace(std::move(WindowMatcher::create(device).value()));
    for (const Rect& place : {Rect{20, 20, 16, 16}, Rect{60, 30, 16, 16}, Rect{40, 55, 21, 17}})
      templates.push_back(crop(frame, place));
    settings.threshold = 0.05;
    settings.max_peaks = 8;
  }

  static std::vector<MatrixView> views(std::span<const Bytes> images) {
    std::vector<MatrixView> all;
    for (const Bytes& image : images) all.push_back(image.view());
    return all;
  }
  std::vector<MatrixView> patterns() const { return colored.empty() ? views(templates) : colored; }
  void prepare() {
    EXPECT_TRUE(matcher->set_templates(patterns(), views(masks)).ok());
    EXPECT_TRUE(matcher->prepare(ElementType::u8, frame_size, settings).ok());
  }

  std::vector<Peak> alone(const SearchWindow& window) {
    Matcher one = std::move(Matcher::create(device).value());
    MatchSettings asked = settings;
    asked.search_region = window.region;
    asked.poses = window.poses;
    EXPECT_TRUE(one.set_templates(patterns(), views(masks)).ok());
    EXPECT_TRUE(one.prepare(ElementType::u8, frame_size, asked).ok());
    EXPECT_TRUE(one.enqueue(searched).ok());
    std::vector<Peak> all, own;
    EXPECT_TRUE(one.collect(all).ok());
    for (const Peak& peak : all)
      if (peak.template_index == window.template_index) own.push_back(peak);
    return own;
  }

  /// In that view of the frame; returns how many peaks there are.
  std::size_t expect_as_alone(std::span<const SearchWindow> windows, const MatrixView& view) {
    const Status enqueued = matcher->enqueue(view, windows);
    EXPECT_TRUE(enqueued.ok()) << enqueued.message();
    std::vector<std::vector<Peak>> found;
    EXPECT_TRUE(matcher->collect(found).ok());
    EXPECT_EQ(found.size(), windows.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(found.size(), windows.size()); ++i) {
      SCOPED_TRACE(i);
      const std::vector<Peak> expected = alone(windows[i]);
      EXPECT_EQ(found[i].size(), expected.size());
      if (found[i].size() != expected.size()) continue;
      count += expected.size();
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const Peak &a = found[i][k], &b = expected[k];
        EXPECT_EQ(std::tie(a.template_index, a.x, a.y, a.width, a.height, a.score, a.similarity),
                  std::tie(b.template_index, b.x, b.y, b.width, b.height, b.score, b.similarity));
        EXPECT_EQ(std::tie(a.pose.angle, a.pose.scale, a.inverted),
                  std::tie(b.pose.angle, b.pose.scale, b.inverted));
      }
    }
    return count;
  }
  std::size_t expect_as_alone(std::span<const SearchWindow> windows) {
    return expect_as_alone(windows, frame.view());
  }

  const Bytes frame = random_image<std::uint8_t>(frame_size, 1);
  MatrixView searched = frame.view();
  std::vector<Bytes> templates, masks;
  std::vector<MatrixView> colored;  ///< instead of templates
  MatchSettings settings;
  std::optional<WindowMatcher> matcher;
};

/// Several of a template, of two sizes, at edges of the frame and past them, one without room.
const SearchWindow some[] = {
    {1, {50, 20, 38, 40}}, {0, {11, 9, 38, 40}}, {0, {58, 40, 38, 40}}, {2, {33, 38, 51, 37}},
    {0, {15, 13, 33, 27}}, {0, {0, 0, 38, 40}},  {1, {80, 60, 38, 40}}, {2, {10, 10, 20, 40}},
};

TEST_P(WindowMatcherTest, FindWhatMatchersFind) {
  prepare();
  EXPECT_GT(expect_as_alone(some), 20u);
}

TEST_P(WindowMatcherTest, OnePeakAWindow) {
  settings.max_peaks = 1;
  prepare();
  EXPECT_GE(expect_as_alone(some), 6u);
}

TEST_P(WindowMatcherTest, OtherWindowsInEachFrame) {
  prepare();
  expect_as_alone(std::span(some).first(2));
  expect_as_alone(some);
  expect_as_alone(std::span(some).last(3));
  expect_as_alone({});
  EXPECT_EQ(matcher->kernel(), "");
  expect_as_alone(std::span(some).subspan(1, 1));
  settings.threshold = 0.3;  // from now on
  EXPECT_TRUE(matcher->prepare(ElementType::u8, frame_size, settings).ok());
  expect_as_alone(std::span(some).first(3));
}

/// From the second frame on a GPU is given the work for the same windows elsewhere as a whole.
TEST_P(WindowMatcherTest, AsManyWindowsInManyFrames) {
  prepare();
  for (const double threshold : {0.05, 0.3}) {
    settings.threshold = threshold;
    EXPECT_TRUE(matcher->prepare(ElementType::u8, frame_size, settings).ok());
    int step = 0;
    for (const std::size_t count : {2, 2, 2, 1, 1, 1, 2, 2}) {
      const SearchWindow windows[] = {{0, {11 + step, 9, 38, 40}},
                                      {1, {50 - step, 20 + step, 38, 40}}};
      EXPECT_GE(expect_as_alone(std::span(windows).first(count)), count);
      ++step;
    }
  }
}

/// So many pixels that they are uploaded before they are read.
TEST_P(WindowMatcherTest, LargeWindows) {
  prepare();
  const std::vector<SearchWindow> windows(9, {0, {0, 0, frame_size.width, frame_size.height}});
  for (int i = 0; i < 3; ++i) EXPECT_GE(expect_as_alone(windows), windows.size());
}

/// Of these windows some meet the frame's border, where matches may stick out.
TEST_P(WindowMatcherTest, AcrossTheBorder) {
  settings.overhang = 0.4;
  settings.subpixel = Subpixel::none;  // at the border of a search, which depends on all templates
  prepare();
  EXPECT_GT(expect_as_alone(some), 20u);
  settings.overhang = 0;
  for (const Bytes& image : templates) {
    masks.emplace_back(image.size);
    for (int y = 3; y < image.size.height; ++y)
      for (int x = 4; x < image.size.width; ++x) masks.back().at(x, y) = 1;
  }
  prepare();
  EXPECT_GT(expect_as_alone(some), 20u);
}

TEST_P(WindowMatcherTest, Masks) {
  for (const Bytes& image : templates) {
    masks.emplace_back(image.size, std::uint8_t{1});
    for (int i = 0; i < 5; ++i) masks.back().at(i, 4 - i) = 0;
  }
  prepare();
  EXPECT_GT(expect_as_alone(some), 20u);
}

TEST_P(WindowMatcherTest, Color) {
  settings.match_on = MatchOn::color;
  const SearchWindow windows[] = {{0, {11, 9, 38, 40}}, {1, {33, 38, 51, 37}}};
  for (const ColorFrame& each : color_frames(frame_size)) {
    searched = each.view;
    colored = {each.part({20, 20, 16, 16}), each.part({40, 54, 21, 17})};
    prepare();
    EXPECT_GT(expect_as_alone(windows, each.view), 6u);
    if (each.view.color[0].step == 1 && !each.view.color[1].shift_x) continue;
    const Block block = upload(device, each.bytes.data.data(), each.bytes.data.size());
    const Memory memory = device.backend == Backend::cpu ? Memory::host : Memory::device;
    EXPECT_GT(expect_as_alone(windows, each.in(block.data(), memory)), 6u);
  }
}

/// One place is compared as a search of it alone does, by each method and in rows of any length.
TEST_P(WindowMatcherTest, SimilarityAtAPlace) {
  settings.threshold = -1;
  settings.max_peaks = 1;
  settings.subpixel = Subpixel::none;
  for (const MethodInfo& method : methods()) {
    settings.method = method.method;
    for (const Rect& place : {Rect{20, 20, 16, 16}, Rect{0, 0, 21, 17}, Rect{29, 37, 67, 43}}) {
      templates = {crop(frame, {frame_size.width - place.width, 11, place.width, place.height})};
      prepare();
      const std::vector<Peak> found = alone({0, place});
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(similarity_at(frame.view(), place.x, place.y, templates[0].view(), method.method),
                found[0].similarity);
    }
  }
  const MatrixView picture = templates[0].view();
  EXPECT_FALSE(similarity_at(frame.view(), 30, 0, picture, Method::ccorr));
  MatrixView of_words = picture;
  of_words.type = ElementType::u16;
  EXPECT_FALSE(similarity_at(frame.view(), 0, 0, of_words, Method::ccorr));
}

/// One peak each, a mask, least squares, and so many pixels that they are uploaded.
TEST_P(WindowMatcherTest, LargeWindowsInColor) {
  settings.match_on = MatchOn::color;
  settings.max_peaks = 1;
  settings.subpixel = Subpixel::least_squares;
  const std::vector<ColorFrame> frames = color_frames(frame_size);
  const ColorFrame& packed = frames[0];
  searched = packed.view;
  colored = {packed.part({20, 20, 16, 16})};
  masks.emplace_back(colored[0].size, std::uint8_t{1});
  masks[0].at(3, 2) = 0;
  prepare();
  const std::vector<SearchWindow> windows(3, {0, {0, 0, frame_size.width, frame_size.height}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(expect_as_alone(windows, packed.view), windows.size());
}

/// What is not searched together.
TEST_P(WindowMatcherTest, ContrastsAndSmoothing) {
  settings.polarity = Polarity::either;
  prepare();
  expect_as_alone(std::span(some).first(3));
  settings.polarity = Polarity::same;
  settings.prefilter_sigma = 1;
  prepare();
  expect_as_alone(std::span(some).first(3));
}

TEST_P(WindowMatcherTest, PosesOfSomeWindows) {
  prepare();
  SearchWindow windows[] = {some[0], some[1], some[2]};
  windows[1].poses.angle_extent = 20;
  windows[1].poses.angle_start = -10;
  expect_as_alone(windows);
}

TEST_P(WindowMatcherTest, FramesInMemoryOfTheDevice) {
  prepare();
  MatrixView view = frame.view();
  const Block block = upload(device, frame.data.data(), frame.data.size());
  view.data = block.data();
  view.memory = device.backend == Backend::cpu ? Memory::host : Memory::device;
  expect_as_alone(some, view);
}

TEST_P(WindowMatcherTest, FramesThatAreMoreThanLuma) {
  prepare();
  const auto [width, height] = frame_size;
  Bytes packed({2 * width, height});
  for (int y = 0; y < height; ++y)  // from the last row to the first
    for (int x = 0; x < width; ++x) packed.at(2 * x + 1, height - 1 - y) = frame.at(x, y);
  const Block block = upload(device, packed.data.data(), packed.data.size());
  for (const bool on_device : {false, true}) {
    const void* data = on_device ? block.data() : packed.data.data();
    expect_as_alone(std::span(some).first(4),
                    {static_cast<const std::uint8_t*>(data) + (height - 1) * 2 * width,
                     ElementType::u8, frame_size, -2 * width,
                     on_device && device.backend != Backend::cpu ? Memory::device : Memory::host,
                     packed_luma(2, 1)});
  }
}

TEST_P(WindowMatcherTest, TemplatesThatChange) {
  auto made = LiveTemplate::create(device, templates[0].view());
  ASSERT_TRUE(made.ok());
  const std::shared_ptr<LiveTemplate> live = made.value();
  const std::shared_ptr<const LiveTemplate> bank[] = {live};
  ASSERT_TRUE(matcher->set_templates(bank).ok());
  ASSERT_TRUE(matcher->prepare(ElementType::u8, frame_size, settings).ok());
  const SearchWindow windows[] = {{0, {11, 9, 38, 40}}, {0, {50, 24, 38, 40}}};
  expect_as_alone(windows);
  for (const int to : {1, 0, 1, 0}) {
    const Rect place = to ? Rect{60, 30, 16, 16} : Rect{20, 20, 16, 16};
    ASSERT_TRUE(live->blend(frame.view(), place.x, place.y, 1).ok());
    templates[0] = crop(frame, place);
    EXPECT_GT(expect_as_alone(windows), 0u);
    EXPECT_GT(expect_as_alone(windows), 0u);
  }
}

TEST_P(WindowMatcherTest, OtherTemplates) {
  prepare();
  expect_as_alone(some);
  std::swap(templates[0], templates[2]);
  prepare();
  expect_as_alone(std::span(some).first(4));
}

TEST_P(WindowMatcherTest, Errors) {
  std::vector<std::vector<Peak>> peaks;
  EXPECT_EQ(matcher->enqueue(frame.view(), {}).code(), Code::invalid_argument);
  prepare();
  EXPECT_EQ(matcher->collect(peaks).code(), Code::invalid_argument);
  const SearchWindow none[] = {{7, {0, 0, 30, 30}}};
  EXPECT_EQ(matcher->provide(none).message(), "there is no template 7");
  const Bytes other({50, 50});
  EXPECT_EQ(matcher->enqueue(other.view(), some).code(), Code::invalid_argument);
  EXPECT_EQ(matcher->collect(peaks).code(), Code::invalid_argument);
  MatchSettings bad = settings;
  bad.threshold = 2;
  EXPECT_EQ(matcher->prepare(ElementType::u8, frame_size, bad).code(), Code::invalid_argument);
  bad = settings;
  bad.kernel = "none of these";
  EXPECT_EQ(matcher->prepare(ElementType::u8, frame_size, bad).code(), Code::unsupported);
  expect_as_alone(std::span(some).first(2));
}

/// The usual windows of a tracker are searched together on a GPU.
TEST_P(WindowMatcherTest, Together) {
  const auto bank = make_bank(views(templates));
  WindowBatch batch;
  settings.search_region = {0, 0, 38, 40};
  const BatchedWindow windows[] = {{0, {1, 2}}, {1, {3, 4}}, {0, {5, 6}}};
  const Status status = batch.provide({device, bank.value(), frame_size, settings, {}}, windows);
  const Code expected = device.backend == Backend::cpu ? Code::unsupported : Code::ok;
  EXPECT_EQ(status.code(), expected) << status.message();
  settings.match_on = MatchOn::color;
  WindowBatch in_color;
  const Status planes = in_color.provide({device, bank.value(), frame_size, settings, {}}, windows);
  EXPECT_EQ(planes.code(), expected) << planes.message();
}

/// In luma they need no surfaces, whichever whole matches are faster by them.
TEST_P(WindowMatcherTest, WithoutSurfaces) {
  if (device.backend == Backend::cpu) GTEST_SKIP() << "windows of a CPU are searched one by one";
  settings.max_peaks = 1;
  for (const int side : {16, 32, 48, 64}) {
    const Bytes part = crop(frame, {0, 0, side, side});
    const MatrixView pattern = part.view();
    const auto bank = make_bank({&pattern, 1});
    settings.search_region = {0, 0, side + 16, side + 16};
    for (const std::size_t count : {1, 20, 100}) {
      WindowBatch batch;
      const std::vector<BatchedWindow> windows(count, {0, {0, 0}});
      ASSERT_TRUE(batch.provide({device, bank.value(), frame_size, settings, {}}, windows).ok());
      EXPECT_TRUE(find_variant<stage::Search>(device.backend, batch.kernel()))
          << batch.kernel() << " for " << count << " of " << side;
    }
  }
}

ON_EACH_BACKEND(WindowMatcherTest);

}  // namespace
}  // namespace api
