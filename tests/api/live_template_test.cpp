// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that change on the device: their pixels are those of the definition, bit for bit;
// matches with them equal those with a new bank of these pixels; and their contract.
#include <algorithm>
#include <cmath>
#include <limits>

#include <xcorr/live_template.hpp>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;
using SharedTemplate = std::shared_ptr<LiveTemplate>;

/// The running average by its definition.
template <class T>
struct Average {
  Size size;
  std::vector<float> values;

  explicit Average(const Image<T>& image)
      : size(image.size), values(image.data.begin(), image.data.end()) {}

  void blend(const Image<T>& frame, int x, int y, float weight) {
    const Image<T> patch = crop(frame, {x, y, size.width, size.height});
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = weight == 1
                      ? static_cast<float>(patch.data[i])
                      : std::fma(weight, static_cast<float>(patch.data[i]) - values[i], values[i]);
  }
  Image<T> pixels() const {
    Image<T> image(size);
    for (std::size_t i = 0; i < values.size(); ++i)
      image.data[i] = static_cast<T>(sizeof(T) == 1 ? std::nearbyint(values[i]) : values[i]);
    return image;
  }
};

class LiveTemplateTest : public TargetTest {
 protected:
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const Bytes pattern = crop(frame, {20, 10, 9, 8});

  template <class T>
  SharedTemplate make(const Image<T>& image) {
    auto made = LiveTemplate::create(device, image.view());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.value();
  }
  template <class T>
  void blend(LiveTemplate& live, const Image<T>& image, int x, int y, double weight) {
    const Status status = live.blend(image.view(), x, y, weight);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(live.wait().ok());
  }
  template <class T>
  Image<T> pixels_of(const LiveTemplate& live) {
    Image<T> image(live.view().size);
    EXPECT_TRUE(live.read(image.data.data()).ok());
    return image;
  }
  Matcher matcher_of(std::initializer_list<SharedTemplate> templates) {
    auto matcher = Matcher::create(device);
    EXPECT_TRUE(matcher.ok());
    const std::vector<std::shared_ptr<const LiveTemplate>> bank(templates.begin(), templates.end());
    EXPECT_TRUE(matcher.value().set_templates(bank).ok());
    return std::move(matcher.value());
  }
  template <class T>
  std::vector<Peak> run(Matcher& matcher, const Image<T>& image) {
    std::vector<Peak> peaks;
    const Status status = matcher.enqueue(image.view());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(matcher.collect(peaks).ok());
    return peaks;
  }

  /// Blends one of three templates, two of which have the same size; after each blend, compares
  /// matches by two matchers, one of which runs only after every second blend, with those by a bank
  /// of these pixels.
  template <class T>
  void follow(MatchSettings s, double tolerance) {
    const auto image = random_image<T>({60, 44}, 3), later = random_image<T>({60, 44}, 4);
    std::vector bank{crop(image, {5, 6, 11, 9}), crop(image, {20, 10, 11, 9}),
                     crop(image, {41, 30, 7, 12})};
    const std::vector live{make(bank[0]), make(bank[1]), make(bank[2])};
    Matcher each = matcher_of({live[0], live[1], live[2]});
    Matcher some = matcher_of({live[1], live[0]});
    Average<T> average(bank[1]);
    s.max_peaks = 2;
    s.threshold = -1;
    ASSERT_TRUE(prepare(each, element_type<T>, image.size, s).ok());
    ASSERT_TRUE(prepare(some, element_type<T>, image.size, s).ok());
    for (int i = 0; i < 6; ++i) {
      const float weight = i == 3 ? 1 : 0.13f * float(i);
      blend(*live[1], later, 3 * i, 2 * i, weight);
      average.blend(later, 3 * i, 2 * i, weight);
      bank[1] = average.pixels();
      ASSERT_EQ(pixels_of<T>(*live[1]).data, bank[1].data) << i;
      expect_same(run(each, later), match<T>(device, bank, later, s), tolerance);
      if (i % 2 == 0) continue;
      expect_same(run(some, later), match<T>(device, std::vector{bank[1], bank[0]}, later, s),
                  tolerance);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, LiveTemplateTest, testing::ValuesIn(targets()), name_of);

TEST_P(LiveTemplateTest, MatchesAsABankMadeAnew) {
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff, Method::ccorr})
    follow<std::uint8_t>(settings(method), 0);
}

TEST_P(LiveTemplateTest, MatchesAsABankMadeAnewOfFloats) { follow<float>(settings(), 1e-5); }

TEST_P(LiveTemplateTest, IsSmoothedByThePrefilter) {
  MatchSettings s = settings();
  s.prefilter_sigma = 1;
  follow<std::uint8_t>(s, 0);
}

/// Steps of less than half a grey level add up.
TEST_P(LiveTemplateTest, SmallWeightsGetThere) {
  const Bytes dark({4, 4}, 100), bright({4, 4}, 103);
  const SharedTemplate live = make(dark);
  for (int i = 0; i < 100; ++i) blend(*live, bright, 0, 0, 0.02);
  EXPECT_EQ(pixels_of<std::uint8_t>(*live).data, Bytes({4, 4}, 103).data);
}

/// Values so different that average + (pixel - average) would be rounded.
TEST_P(LiveTemplateTest, TheWholeWeightReplaces) {
  const Image<float> large({5, 4}, 3e7f), small = random_image<float>({5, 4}, 8);
  const SharedTemplate live = make(large);
  blend(*live, small, 0, 0, 1);
  EXPECT_EQ(pixels_of<float>(*live).data, small.data);
}

/// On the caller's stream a blend and what uses it need no waiting in between.
TEST_P(LiveTemplateTest, BlendsOnAStreamOfTheCallers) {
  const SharedTemplate live = make(pattern);
  Matcher matcher = matcher_of({live});
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, settings()).ok());
  auto stream = runtime(device.backend).create_stream();
  ASSERT_TRUE(stream.ok());
  for (const int x : {30, 41, 3}) {
    ASSERT_TRUE(live->blend(frame.view(), x, 20, 1, stream.value()).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view(), stream.value());
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_EQ(peaks[0].x, x);
    EXPECT_EQ(pixels_of<std::uint8_t>(*live).data, crop(frame, {x, 20, 9, 8}).data);
  }
  runtime(device.backend).destroy_stream(stream.value());
}

/// Also those that a device reads for itself; and matchers come after the blend.
TEST_P(LiveTemplateTest, FramesInHostMemoryHaveBeenRead) {
  const SharedTemplate live = make(pattern);
  Matcher matcher = matcher_of({live});
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, settings()).ok());
  const auto memory = allocate_host(device, frame.data.size());
  ASSERT_TRUE(memory.ok());
  auto* const pixels = static_cast<std::uint8_t*>(memory.value());
  MatrixView view = frame.view();
  view.data = pixels;
  for (const int x : {30, 41, 3}) {
    std::ranges::copy(frame.data, pixels);
    ASSERT_TRUE(live->blend(view, x, 20, 1).ok());
    std::fill_n(pixels, frame.data.size(), std::uint8_t{0});
    EXPECT_EQ(run(matcher, frame).at(0).x, x);
  }
  release_host(device, memory.value());
}

TEST_P(LiveTemplateTest, FlatMatchesNothingUntilItIsBlendedAgain) {
  const SharedTemplate live = make(pattern);
  Matcher matcher = matcher_of({live});
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, settings()).ok());
  EXPECT_EQ(run(matcher, frame).size(), 1u);
  blend(*live, Bytes(pattern.size, 7), 0, 0, 1);
  EXPECT_TRUE(run(matcher, frame).empty());
  blend(*live, frame, 30, 20, 1);
  const auto peaks = run(matcher, frame);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 30);
  EXPECT_EQ(peaks[0].score, 1);
}

/// Other settings, other frame sizes and respond() make plans of their own.
TEST_P(LiveTemplateTest, StaysThroughOtherPlans) {
  const SharedTemplate live = make(pattern);
  Matcher matcher = matcher_of({live});
  MatchSettings s = settings();
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, s).ok());
  Response response;
  ASSERT_TRUE(matcher.respond(frame.view(), 0, response).ok());
  blend(*live, frame, 30, 20, 1);
  ASSERT_TRUE(matcher.respond(frame.view(), 0, response).ok());
  EXPECT_EQ(response.values[20 * std::size_t(response.places.width) + 30], 1);
  s.max_peaks = 3;
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, s).ok());
  EXPECT_EQ(run(matcher, frame).at(0).x, 30);
  const Bytes part = crop(frame, {10, 10, 40, 30});
  ASSERT_TRUE(prepare(matcher, ElementType::u8, part.size, s).ok());
  EXPECT_EQ(run(matcher, part).at(0).x, 20);
}

TEST_P(LiveTemplateTest, TakesFramesOnTheDevice) {
  const Block memory = upload(device, frame.data.data(), frame.data.size());
  MatrixView view = frame.view();
  view.data = memory.data();
  view.memory = Memory::device;
  const SharedTemplate live = make(pattern);
  ASSERT_TRUE(live->blend(view, 51, 36, 1).ok());  // the last place
  ASSERT_TRUE(live->wait().ok());
  EXPECT_EQ(pixels_of<std::uint8_t>(*live).data, crop(frame, {51, 36, 9, 8}).data);
}

TEST_P(LiveTemplateTest, TakesTheLumaOfPackedFrames) {
  Bytes packed({2 * frame.size.width, frame.size.height}, 200);
  for (std::size_t i = 0; i < frame.data.size(); ++i) packed.data[2 * i + 1] = frame.data[i];
  MatrixView view = packed.view();
  view.size = frame.size;
  view.pixels = packed_luma(2, 1);
  const SharedTemplate live = make(pattern);
  for (const auto& [x, y] : {std::pair{51, 36}, {3, 5}}) {
    ASSERT_TRUE(live->blend(view, x, y, 1).ok());
    ASSERT_TRUE(live->wait().ok());
    EXPECT_EQ(pixels_of<std::uint8_t>(*live).data, crop(frame, {x, y, 9, 8}).data);
  }
}

TEST_P(LiveTemplateTest, ErrorsLeaveItAsItWas) {
  const SharedTemplate live = make(pattern);
  const auto refused = [&](const MatrixView& view, int x, int y, double weight) {
    const Status status = live->blend(view, x, y, weight);
    return status.code() == Code::invalid_argument && !status.message().empty();
  };
  for (const auto& [x, y] : {std::pair{-1, 0},
                             {0, -1},
                             {52, 0},
                             {0, 37},
                             {std::numeric_limits<int>::max(), 0},
                             {0, std::numeric_limits<int>::min()}})
    EXPECT_TRUE(refused(frame.view(), x, y, 0.5)) << x << ", " << y;
  for (const double weight : {-0.1, 1.1, std::nan("")})
    EXPECT_TRUE(refused(frame.view(), 0, 0, weight)) << weight;
  const Image<float> floats({60, 44}, 1);
  EXPECT_TRUE(refused(floats.view(), 0, 0, 0.5));
  EXPECT_TRUE(refused(crop(frame, {0, 0, 8, 44}).view(), 0, 0, 0.5));
  MatrixView null = frame.view(), narrow = frame.view();
  null.data = nullptr;
  narrow.pitch = 59;
  EXPECT_TRUE(refused(null, 0, 0, 0.5));
  EXPECT_TRUE(refused(narrow, 0, 0, 0.5));
  EXPECT_EQ(live->version(), 0u);
  EXPECT_EQ(pixels_of<std::uint8_t>(*live).data, pattern.data);

  MatrixView empty = pattern.view();
  empty.size.width = 0;
  EXPECT_EQ(LiveTemplate::create(device, empty).status().code(), Code::invalid_argument);
}

TEST_P(LiveTemplateTest, BanksThatCannotBeKeepTheOldOne) {
  const SharedTemplate live = make(pattern), floats = make(Image<float>({4, 4}, 1));
  Matcher matcher = matcher_of({live});
  ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, settings()).ok());
  std::vector<std::vector<std::shared_ptr<const LiveTemplate>>> bad{{live, nullptr},
                                                                    {live, floats}};
  if (device.backend != Backend::cpu)
    bad.push_back({LiveTemplate::create(Device{}, pattern.view()).value()});
  for (const auto& bank : bad) {
    EXPECT_EQ(matcher.set_templates(bank).code(), Code::invalid_argument);
    EXPECT_EQ(run(matcher, frame).at(0).x, 20);  // without another prepare()
  }
}

TEST_P(LiveTemplateTest, SimilarityIsTheThresholdReached) {
  for (const MethodInfo& method : methods()) {
    MatchSettings s = settings(method.method);
    s.threshold = 0.2;
    const auto found = match(device, pattern, frame, s);
    ASSERT_EQ(found.size(), 1u) << method.name;
    EXPECT_NEAR(found[0].similarity, 1, 1e-6) << method.name;
    Bytes other = frame;
    for (int i = 0; i < 36; ++i) {  // half the contrast
      std::uint8_t& pixel = other.at(20 + i % 9, 10 + i / 9);
      pixel = static_cast<std::uint8_t>((pixel + 127) / 2);
    }
    const double similarity = match(device, pattern, other, s).at(0).similarity;
    s.threshold = similarity - 1e-6;
    EXPECT_EQ(match(device, pattern, other, s).size(), 1u) << method.name;
    s.threshold = similarity + 1e-6;
    EXPECT_TRUE(match(device, pattern, other, s).empty()) << method.name;
  }
}

}  // namespace
}  // namespace api
