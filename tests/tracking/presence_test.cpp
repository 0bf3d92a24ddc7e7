// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Labels that appear and are gone, on made-up peaks.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <xcorr/presence.hpp>

namespace xcorr {
namespace {

Target at(std::uint32_t template_index, double x, double confidence = 0.9) {
  return {{template_index, x, 20, 30, 40, confidence, confidence},
          0,
          TrackState::none,
          false,
          confidence};
}

/// Frames of 10 ns each, from 0 on.
class Screen {
 public:
  explicit Screen(std::vector<std::string> labels, PresenceSettings settings = {}) {
    presence.configure(settings);
    presence.set_labels(labels);
  }
  void show(std::vector<Target> targets, int frames = 1) {
    for (int i = 0; i < frames; ++i, ++frame) {
      presence.update({10 * frame, 1000 + 10 * frame}, targets);
      take();
    }
  }
  void skip(int frames) {
    for (int i = 0; i < frames; ++i, ++frame) presence.skip();
    take();
  }
  void take() {
    for (PresenceEvent& event : presence.take_events()) events.push_back(std::move(event));
  }
  /// Such as "appeared a 0..10 (0)": the label, its first and last frame, how many were unanalysed.
  std::vector<std::string> told() const {
    std::vector<std::string> texts;
    for (const PresenceEvent& event : events)
      texts.push_back(std::string(name_of(event.change)) + ' ' + event.label + ' ' +
                      std::to_string(event.first.running_time / 10) + ".." +
                      std::to_string(event.last.running_time / 10) + " (" +
                      std::to_string(event.unanalysed) + ')');
    return texts;
  }

  Presence presence;
  std::vector<PresenceEvent> events;
  std::uint64_t frame = 0;
};

using Texts = std::vector<std::string>;

TEST(Presence, NamesTheFirstFrameAndTheLast) {
  Screen screen({"a"});
  screen.show({}, 5);
  screen.show({at(0, 100)});
  screen.show({at(0, 107)}, 19);
  screen.show({}, 5);
  EXPECT_EQ(screen.told(), (Texts{"appeared a 5..6 (0)", "gone a 5..24 (0)"}));
  EXPECT_EQ(screen.events[0].target.peak.x, 100);
  EXPECT_EQ(screen.events[1].target.peak.x, 107);
  EXPECT_EQ(screen.events[0].first, (FrameTime{50, 1050}));
  EXPECT_EQ(screen.events[1].last, (FrameTime{240, 1240}));
}

TEST(Presence, ToldOnceConfirmed) {
  Screen screen({"a"}, {3, 4});
  screen.show({at(0, 1)}, 2);
  EXPECT_TRUE(screen.events.empty());
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.told(), (Texts{"appeared a 0..2 (0)"}));
  screen.show({}, 3);
  EXPECT_EQ(screen.events.size(), 1);
  screen.show({});
  EXPECT_EQ(screen.told().back(), "gone a 0..2 (0)");
}

/// Of one frame neither a flash nor a gap is an event.
TEST(Presence, WhatIsNotConfirmedIsNone) {
  Screen screen({"a"});
  screen.show({at(0, 1)});
  screen.show({});
  screen.show({at(0, 1)}, 10);
  screen.show({});
  screen.show({at(0, 1)}, 10);
  EXPECT_EQ(screen.told(), (Texts{"appeared a 2..3 (0)"}));
  screen.show({}, 2);
  EXPECT_EQ(screen.told().back(), "gone a 2..22 (0)");
}

TEST(Presence, UnanalysedFramesChangeNothing) {
  Screen screen({"a"});
  screen.show({});
  screen.skip(3);  // 1, 2, 3
  screen.show({at(0, 1)});
  screen.skip(7);
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.told(), (Texts{"appeared a 4..12 (3)"}));
  screen.skip(1000);
  EXPECT_EQ(screen.events.size(), 1);
  screen.show({});
  screen.skip(5);
  screen.show({});
  EXPECT_EQ(screen.told().back(), "gone a 4..12 (1000)");
}

TEST(Presence, OneFrameCanBeEnough) {
  Screen screen({"a"}, {1, 1});
  screen.show({at(0, 1)});
  screen.show({});
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.told(),
            (Texts{"appeared a 0..0 (0)", "gone a 0..0 (0)", "appeared a 2..2 (0)"}));
}

TEST(Presence, TemplatesShareALabel) {
  Screen screen({"a", "b", "a"});
  screen.show({at(0, 1, 0.7), at(0, 2, 0.6), at(1, 3), at(2, 4, 0.8)}, 2);
  screen.show({at(2, 4)}, 2);
  screen.show({at(0, 1)}, 2);
  EXPECT_EQ(screen.told(),
            (Texts{"appeared a 0..1 (0)", "appeared b 0..1 (0)", "gone b 0..1 (0)"}));
  EXPECT_EQ(screen.events[0].target.peak.x, 4);
}

TEST(Presence, LostTargetsAndStrangersDoNotCount) {
  Screen screen({"a"});
  Target lost = at(0, 1);
  lost.lost = true;
  screen.show({lost, at(1, 1), at(no_template, 1)}, 5);
  EXPECT_TRUE(screen.events.empty());
}

TEST(Presence, LabelsGoOnByTheirNames) {
  Screen screen({"a", "b", "c"}, {2, 3});
  screen.show({at(0, 1), at(1, 1)}, 3);
  screen.show({at(2, 1)});
  screen.presence.set_labels(std::vector<std::string>{"c", "d", "b"});
  screen.take();
  EXPECT_EQ(screen.told(),
            (Texts{"appeared a 0..1 (0)", "appeared b 0..1 (0)", "gone a 0..2 (0)"}));
  EXPECT_EQ(screen.events.back().target.peak.template_index, no_template);
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.told().back(), "appeared c 3..4 (0)");
  EXPECT_EQ(screen.events.back().target.peak.template_index, 0);
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.told().back(), "gone b 0..2 (0)");
}

TEST(Presence, AGapOfTheStream) {
  Screen screen({"a", "b"});
  screen.show({at(0, 1)}, 3);
  screen.show({at(0, 1), at(1, 1)});
  screen.presence.interrupt();
  screen.show({at(1, 1)});
  EXPECT_EQ(screen.events.size(), 1);
  screen.show({at(1, 1)});
  EXPECT_EQ(screen.told(),
            (Texts{"appeared a 0..1 (0)", "gone a 0..3 (0)", "appeared b 4..5 (0)"}));
}

TEST(Presence, NewcomersAreToldAtOnce) {
  Screen screen({"a", "b"});
  screen.show({at(0, 1)});
  EXPECT_EQ(screen.presence.newcomers().size(), 1);
  screen.show({at(0, 1), at(1, 8)});
  ASSERT_EQ(screen.presence.newcomers().size(), 1);
  EXPECT_EQ(screen.presence.newcomers()[0].peak.x, 8);
  screen.show({at(0, 1), at(1, 8)});
  EXPECT_TRUE(screen.presence.newcomers().empty());
}

/// A thousand templates cost nothing where nothing is seen, and little where all are there.
TEST(Presence, AThousandTemplates) {
  std::vector<std::string> labels;
  std::vector<Target> all;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    labels.push_back("label " + std::to_string(i));
    all.push_back(at(i, i));
  }
  Screen screen(labels);
  const auto begin = std::chrono::steady_clock::now();
  screen.show({}, 100'000);
  const auto empty = std::chrono::steady_clock::now();
  screen.show(all, 1000);
  const auto full = std::chrono::steady_clock::now();
  screen.show({}, 2);
  EXPECT_EQ(screen.events.size(), 2000);
  using Microseconds = std::chrono::duration<double, std::micro>;
  const double for_nothing = Microseconds(empty - begin).count() / 100'000,
               for_all = Microseconds(full - empty).count() / 1000;
  RecordProperty("us_empty", std::to_string(for_nothing));
  RecordProperty("us_thousand_shown", std::to_string(for_all));
  EXPECT_LT(for_nothing, 20);
  EXPECT_LT(for_all, 2000);
}

}  // namespace
}  // namespace xcorr
