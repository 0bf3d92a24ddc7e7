// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library on a GPU whose n-th call fails, for every n there is: nothing crashes or leaks, and
// an answer that is given is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "simt/faults.hpp"

namespace {

using namespace xcorr;

constexpr Size frame_size{48, 40};

struct Image {
  Size size;
  std::vector<std::uint8_t> pixels;

  MatrixView view() const { return {pixels.data(), ElementType::u8, size, size.width}; }
};

Image noise(unsigned seed) {
  std::mt19937 random(seed);
  Image image{frame_size, std::vector<std::uint8_t>(frame_size.area())};
  std::ranges::generate(image.pixels, [&] { return static_cast<std::uint8_t>(random()); });
  return image;
}

Image part_of(const Image& from, const Rect& part) {
  Image image{part.size(), {}};
  for (int y = part.y; y < part.y + part.height; ++y) {
    const auto row = from.pixels.begin() + y * from.size.width + part.x;
    image.pixels.insert(image.pixels.end(), row, row + part.width);
  }
  return image;
}

const Image& frame() {
  static const Image image = noise(1);
  return image;
}

constexpr Rect places[] = {{20, 12, 12, 12}, {5, 23, 19, 9}, {31, 24, 12, 12}};

/// What a use of the library has answered, and another must answer again.
using Answers = std::vector<double>;

void append(Answers& answers, const std::vector<Peak>& peaks) {
  for (const Peak& peak : peaks)
    answers.insert(answers.end(), {double(peak.template_index), peak.x, peak.y, peak.score});
}

struct Use {
  const char* name;
  MatchSettings settings;
  bool live = false, response = false, masked = false;
  std::size_t templates = std::size(places);
};

std::ostream& operator<<(std::ostream& out, const Use& use) { return out << use.name; }

std::vector<MatrixView> views_of(const std::vector<Image>& images) {
  std::vector<MatrixView> views;
  for (const Image& image : images) views.push_back(image.view());
  return views;
}

class Matching {
 public:
  /// Opens the device and prepares.
  Status open(const Use& use) {
    auto device = open_device(Backend::cuda);
    if (!device.ok()) return device.status();
    if (Status s = make_current(device.value()); !s.ok()) return s;
    auto matcher = Matcher::create(device.value());
    if (!matcher.ok()) return matcher.status();
    matcher_.emplace(std::move(matcher.value()));
    if (Status s = set_templates(device.value(), use); !s.ok()) return s;
    return matcher_->prepare(ElementType::u8, frame_size, use.settings);
  }

  Status match(const Use& use, Answers& answers) {
    std::vector<Peak> peaks;
    if (Status s = matcher_->enqueue(frame().view()); !s.ok()) return s;
    if (Status s = matcher_->collect(peaks); !s.ok()) return s;
    append(answers, peaks);
    return use.response ? respond(answers) : Status();
  }

  Status blend() {
    for (const auto& live : live_)
      if (Status s = live->blend(frame().view(), 3, 4, 0.25); !s.ok()) return s;
    for (const auto& live : live_)
      if (Status s = live->wait(); !s.ok()) return s;
    return {};
  }

 private:
  Status set_templates(const Device& device, const Use& use) {
    std::vector<Image> images, masks;
    for (const Rect& place : std::span(places).first(use.templates)) {
      images.push_back(part_of(frame(), place));
      masks.push_back(images.back());
      for (auto& pixel : masks.back().pixels) pixel &= 1;
    }
    if (!use.live)
      return matcher_->set_templates(views_of(images),
                                     use.masked ? views_of(masks) : std::vector<MatrixView>());
    for (const Image& image : images) {
      auto made = LiveTemplate::create(device, image.view());
      if (!made.ok()) return made.status();
      live_.push_back(made.value());
    }
    return matcher_->set_templates(
        std::vector<std::shared_ptr<const LiveTemplate>>(live_.begin(), live_.end()));
  }

  Status respond(Answers& answers) {
    Response response;
    if (Status s = matcher_->respond(frame().view(), 1, response); !s.ok()) return s;
    answers.insert(answers.end(), response.values.begin(), response.values.end());
    return {};
  }

  std::vector<std::shared_ptr<LiveTemplate>> live_;
  std::optional<Matcher> matcher_;
};

/// A call whose failure makes no difference, such as one that frees, may go unreported. Returns
/// whether it was reported.
bool is_refused(const Status& status, const Answers& answers, const Answers& truth) {
  if (status.ok()) {
    EXPECT_EQ(answers, truth);
    return false;
  }
  EXPECT_FALSE(status.message().empty());
  EXPECT_TRUE(status.code() == Code::device_error || status.code() == Code::out_of_memory ||
              status.code() == Code::not_found)
      << status.message();
  return true;
}

class Faults : public testing::TestWithParam<Use> {
 protected:
  void SetUp() override {
    Matching matching;
    ASSERT_TRUE(matching.open(GetParam()).ok());
    ASSERT_TRUE(matching.match(GetParam(), first_).ok());
    ASSERT_TRUE(matching.blend().ok());
    ASSERT_TRUE(matching.match(GetParam(), second_).ok());
    ASSERT_FALSE(first_.empty());
    EXPECT_EQ(first_ != second_, GetParam().live);
  }
  void TearDown() override { simt::mend(); }

  struct Outcome {
    bool refused;
    long calls;  ///< of the runtime, until the fault was mended
  };

  /// Calls f(n) for n = 1, 2, ... until it makes fewer than n calls of the runtime. Most failures
  /// must be noticed.
  static void for_each_call(const std::function<Outcome(long n)>& f) {
    long refused = 0;
    const long step = simt::fault_step();
    for (long n = 1; n < 5000; n += step) {
      const std::size_t before = simt::allocated_bytes();
      const Outcome outcome = f(n);
      EXPECT_EQ(simt::allocated_bytes(), before) << "leaked after call " << n;
      refused += outcome.refused;
      if (outcome.calls >= n) continue;
      EXPECT_GT(n, 10);
      EXPECT_GT(refused * step, n / 2);
      std::cout << "of " << outcome.calls << " calls every " << step << ". failed, " << refused
                << " were noticed\n";
      return;
    }
    ADD_FAILURE() << "there are always more calls";
  }

  /// All that there is from the device's opening, by objects that end with it.
  void fail_from_the_beginning(simt::Fault fault) const {
    for_each_call([&](long n) {
      Answers answers;
      simt::break_call(n, fault);
      const auto use = [&]() -> Status {
        Matching matching;
        if (Status s = matching.open(GetParam()); !s.ok()) return s;
        return matching.match(GetParam(), answers);
      };
      const bool refused = is_refused(use(), answers, first_);
      return Outcome{refused, simt::mend()};
    });
  }

  Answers first_, second_;
};

TEST_P(Faults, EveryCallFailsOnce) { fail_from_the_beginning(simt::Fault::passing); }

TEST_P(Faults, EveryCallFailsForGood) { fail_from_the_beginning(simt::Fault::lasting); }

/// After a frame in which a call failed the same objects are right again.
TEST_P(Faults, TheNextFrameIsRight) {
  for_each_call([&](long n) {
    Matching matching;
    Answers answers, broken, mended;
    EXPECT_TRUE(matching.open(GetParam()).ok());
    EXPECT_TRUE(matching.match(GetParam(), answers).ok());
    EXPECT_TRUE(matching.blend().ok());
    simt::break_call(n, simt::Fault::passing);
    const bool refused = is_refused(matching.match(GetParam(), broken), broken, second_);
    const long calls = simt::mend();
    EXPECT_TRUE(matching.match(GetParam(), mended).ok());
    EXPECT_EQ(mended, second_) << "after call " << n;
    return Outcome{refused, calls};
  });
}

const Use uses[] = {
    {.name = "plain", .settings = {}},
    {.name = "response", .settings = {.max_peaks = 4}, .response = true},
    {.name = "live", .settings = {}, .live = true},
    {.name = "masked", .settings = {}, .masked = true},
    // Of a search for poses each call takes long here.
    {.name = "turned", .settings = {.threshold = 0.2, .poses = {.angle_start = 7}}, .templates = 2},
    {.name = "smoothed", .settings = {.prefilter_sigma = 1}},
    {.name = "fft", .settings = {.kernel = "fft"}},
    {.name = "overlap_wise",
     .settings = {.method = Method::sqdiff_normed, .kernel = "overlap_wise"}},
};

INSTANTIATE_TEST_SUITE_P(Library, Faults, testing::ValuesIn(uses),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
