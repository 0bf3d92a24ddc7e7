// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks in sequences whose truth is known because they are drawn, see bench/tracking/made.hpp.
// Each is played with both trackers, of which one is the default, and has bounds. What was measured
// is printed.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "../../bench/tracking/made.hpp"
#include "support.hpp"

namespace {

struct Bounds {
  const char* name;
  const char* settings;
  double held;     ///< least share of the times that a target is in view in which it is found
  double wrong;    ///< largest share of frames with a target in view that name another place too
  double claimed;  ///< largest share of frames with no target in view that name a place
  int ids;         ///< that name targets, at most
  int shared;      ///< of them, most that name more than one target
};

/// With templates.
constexpr Bounds bounds[] = {
    {"moves", "tracker=template", 1, 0, 0, 1, 0},
    {"turns", "tracker=template", 0.55, 0, 0, 1, 0},
    {"grows", "tracker=template", 0.8, 0, 0, 1, 0},
    {"blurs", "tracker=template", 1, 0, 0, 1, 0},
    {"light", "tracker=template", 1, 0, 0, 1, 0},
    {"hides", "tracker=template", 0.84, 0, 0.06, 1, 0},
    {"cut", "tracker=template", 0.92, 0, 0, 1, 0},
    {"fast", "tracker=template", 1, 0, 0, 1, 0},
    {"bounces", "tracker=template", 1, 0, 0, 6, 0},
    {"leaves", "tracker=template", 0.83, 0, 0, 2, 0},
    {"missing", "tracker=template", 0.6, 0.4, 0.96, 1, 0},
    {"crossing", "tracker=template max-peaks=2", 0.9, 0.02, 0, 2, 0},
    {"slow-crossing", "tracker=template max-peaks=2", 0.9, 0.1, 0, 2, 0},
    {"long-crossing", "tracker=template max-peaks=2", 0.9, 0.26, 0, 2, 0},
    {"hidden-crossing", "tracker=template max-peaks=2", 0.45, 0.42, 1, 2, 0},
    {"conveyor", "max-peaks=8 threshold=0.8", 0.9, 0, 0, 43, 0},
};

/// With filters that learn, which also hold what turns and grows.
constexpr Bounds bounds_of_filters[] = {
    {"moves", "", 1, 0, 0, 1, 0},
    {"turns", "", 0.98, 0, 0, 1, 0},
    {"grows", "", 0.98, 0, 0, 1, 0},
    {"blurs", "", 1, 0, 0, 1, 0},
    {"light", "", 1, 0, 0, 1, 0},
    {"hides", "", 0.88, 0, 0.22, 1, 0},
    {"cut", "", 0.92, 0, 0, 1, 0},
    {"fast", "", 1, 0, 0, 1, 0},
    {"bounces", "", 0.95, 0, 0, 4, 0},
    {"leaves", "", 0.83, 0, 0, 2, 0},
    {"missing", "", 0.95, 0, 0, 1, 0},
    {"crossing", "max-peaks=2", 0.95, 0, 0, 2, 0},
    {"slow-crossing", "max-peaks=2", 0.95, 0, 0, 2, 0},
    {"long-crossing", "max-peaks=2", 0.93, 0, 0, 2, 0},
    {"hidden-crossing", "max-peaks=2", 0.87, 0, 0.12, 2, 0},
    {"conveyor", "tracker=filter max-peaks=8 threshold=0.8", 0.9, 0, 0, 43, 0},
};

double overlap(const Peak& peak, const bench::Box& box) {
  const double width = std::min(peak.x + peak.width, box.x + box.width) - std::max(peak.x, box.x);
  const double height =
      std::min(peak.y + peak.height, box.y + box.height) - std::max(peak.y, box.y);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (peak.width * peak.height + box.width * box.height - width * height);
}

/// What happened in a sequence.
struct Account {
  int in_view = 0, held = 0;  ///< times that a target was in view, and found
  int frames_with = 0, wrong = 0;
  int frames_without = 0, claimed = 0;
  std::map<guint64, std::set<std::size_t>> names;  ///< by id the targets that it named

  void add(const bench::MadeFrame& frame, const std::vector<Peak>& peaks) {
    bool elsewhere = false, any = false, view = false;
    std::set<std::size_t> found;
    for (const Peak& peak : peaks) {
      if (peak.lost) continue;
      any = true;
      double best = 0;
      for (std::size_t i = 0; i < frame.truth.size(); ++i) {
        const double common = frame.truth[i] ? overlap(peak, *frame.truth[i]) : 0;
        best = std::max(best, common);
        if (common < 0.5) continue;
        found.insert(i);
        names[peak.id].insert(i);
      }
      elsewhere |= best < 0.1;
    }
    for (const auto& box : frame.truth) {
      in_view += box.has_value();
      view |= box.has_value();
    }
    held += static_cast<int>(found.size());
    (view ? frames_with : frames_without) += 1;
    wrong += view && elsewhere;
    claimed += !view && any;
  }

  int shared() const {
    return static_cast<int>(
        std::ranges::count_if(names, [](const auto& entry) { return entry.second.size() > 1; }));
  }
};

void play(const bench::MadeSequence& sequence, const Bounds& bound) {
  Gray target(sequence.target.width, sequence.target.height);
  target.pixels = sequence.target.pixels;
  Finder finder(std::string("track=true template=") + save(target, "target.png") + " " +
                bound.settings);
  Account account;
  for (int i = 0; i < sequence.frames; ++i) {
    const bench::MadeFrame frame = sequence.frame(i);
    Gray picture(frame.picture.width, frame.picture.height);
    picture.pixels = frame.picture.pixels;
    account.add(frame, finder.find(picture).peaks);
  }
  const auto share = [](int part, int of) { return of ? static_cast<double>(part) / of : 0; };
  const double held = share(account.held, account.in_view);
  const double wrong = share(account.wrong, account.frames_with);
  const double claimed = share(account.claimed, account.frames_without);
  const int ids = static_cast<int>(account.names.size());
  g_print("%-22s held %5.1f %%, wrong %5.1f %%, claimed %d of %d, %d ids, %d shared\n",
          sequence.name.c_str(), 100 * held, 100 * wrong, account.claimed, account.frames_without,
          ids, account.shared());
  const auto within = [&](bool holds, const char* what) {
    fail_unless(holds, "%s, %s: out of bounds", sequence.name.c_str(), what);
  };
  within(held >= bound.held, "held");
  within(wrong <= bound.wrong, "wrong");
  within(claimed <= bound.claimed, "claimed");
  within(ids <= bound.ids, "ids");
  within(account.shared() <= bound.shared, "shared");
}

/// Drawn once, before the tests fork.
const std::vector<bench::MadeSequence>& sequences() {
  static const std::vector<bench::MadeSequence> both = [] {
    std::vector<bench::MadeSequence> made = bench::made_sequences(bench::Look::clouds);
    std::ranges::move(bench::made_sequences(bench::Look::pieces), std::back_inserter(made));
    return made;
  }();
  return both;
}

GST_START_TEST(within_bounds) {
  const bench::MadeSequence& sequence = sequences()[static_cast<std::size_t>(__i__)];
  const std::string kind = sequence.name.substr(0, sequence.name.rfind('-'));
  const auto* bound = std::ranges::find(bounds, kind, &Bounds::name);
  fail_unless(bound != std::end(bounds), "%s has no bounds", sequence.name.c_str());
  play(sequence, *bound);
}
GST_END_TEST

GST_START_TEST(filters_within_bounds) {
  const Bounds& bound = bounds_of_filters[__i__];
  for (const bench::MadeSequence& sequence : sequences())
    if (sequence.name.substr(0, sequence.name.rfind('-')) == bound.name) play(sequence, bound);
}
GST_END_TEST

}  // namespace

Suite* suite() {
  Suite* suite = suite_create("made tracks");
  TCase* cases = tcase_create("made tracks");
  suite_add_tcase(suite, cases);
  tcase_add_loop_test(cases, within_bounds, 0, static_cast<int>(sequences().size()));
  tcase_add_loop_test(cases, filters_within_bounds, 0, std::size(bounds_of_filters));
  return suite;
}
