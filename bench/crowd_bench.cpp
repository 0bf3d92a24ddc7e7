// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How well ids stay with people in a crowd, when a detector finds them: by the follower of
// detections with its filters, and by overlap alone, the rule of GStreamer's element ioutracker.
// Both get the same detections: drawn boxes of which a tenth is missed and none is exact, and some
// that are of nothing. The detector runs in every frame, every second or every fifth.
//
//   crowd_bench [--backend=cpu|cuda] [--frames=N] [--first=N] [--crowds=N]
//
// One CSV line for each tracker and each pace of the detector. `covered`: the share of the times
// that a person is in view in which a box with an id overlaps theirs by half; `switches`: how often
// such a box has another id than the last one of that person; `wrong`: the share of boxes that
// overlap nobody in view; `ids`: how many there were, of 12 people a crowd.
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>

#include <xcorr/follower.hpp>

#include "require.hpp"
#include "tracking/association/boxes.hpp"
#include "tracking/synthetic.hpp"

namespace {

using namespace xcorr;
using follow::overlap;

struct Numbered {
  Box box;
  std::uint64_t id;
};

/// Detections of a frame. Those of one seed are the same for all trackers.
std::vector<Box> detect(const bench::MadeFrame& frame, std::mt19937& lot) {
  std::bernoulli_distribution misses(0.1), imagines(0.05);
  std::normal_distribution error(0.0, 1.5);
  std::vector<Box> boxes;
  for (const auto& truth : frame.truth) {
    const double x = error(lot), y = error(lot), wider = error(lot), higher = error(lot);
    if (misses(lot) || !truth) continue;
    boxes.push_back({std::round(truth->x + x), std::round(truth->y + y),
                     std::round(truth->width + wider), std::round(truth->height + higher)});
  }
  if (imagines(lot))
    boxes.push_back(
        {std::floor(frame.image.width * 0.9 * std::generate_canonical<double, 20>(lot)),
         std::floor(frame.image.height * 0.8 * std::generate_canonical<double, 20>(lot)), 28, 56});
  return boxes;
}

class ByOverlap {
 public:
  explicit ByOverlap(const Device&) {}

  /// Each takes what overlaps its last box most, by half at least; what is not seen goes on at its
  /// mean velocity for some frames.
  std::vector<Numbered> update(const bench::Grey&, const std::vector<Box>& boxes) {
    std::set<std::size_t> taken;
    std::vector<Numbered> seen;
    std::erase_if(tracks_, [&](Known& track) {
      std::size_t best = boxes.size();
      double most = least_overlap;
      for (std::size_t i = 0; i < boxes.size(); ++i)
        if (const double share = overlap(boxes[i], track.box);
            !taken.contains(i) && share >= most) {
          most = share;
          best = i;
        }
      if (best < boxes.size()) {
        taken.insert(best);
        track.unseen = 0;
        move(track, boxes[best]);
        seen.push_back({track.box, track.id});
        return false;
      }
      if (++track.unseen >= most_unseen) return true;
      Box next = track.box;
      next.x += (track.box.x - track.first.x) / track.count;
      next.y += (track.box.y - track.first.y) / track.count;
      move(track, next);
      return false;
    });
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (!taken.contains(i)) {
        tracks_.push_back({++last_id_, boxes[i], boxes[i]});
        seen.push_back({boxes[i], last_id_});
      }
    return seen;
  }

 private:
  static constexpr double least_overlap = 0.5;  // the element's defaults
  static constexpr int most_unseen = 5;
  struct Known {
    std::uint64_t id;
    Box box, first;
    int count = 1, unseen = 0;
  };
  static void move(Known& track, const Box& box) {
    track.box = box;
    ++track.count;
  }

  std::vector<Known> tracks_;
  std::uint64_t last_id_ = 0;
};

class ByFilters {
 public:
  explicit ByFilters(const Device& device) : filters_(require(Tracker::create(device))) {}

  std::vector<Numbered> update(const bench::Grey& image, const std::vector<Box>& boxes) {
    const Size size{image.width, image.height};
    const MatrixView frame{image.pixels.data(), ElementType::u8, size, image.width};
    if (number_ == 0) {
      MatchSettings match;
      match.max_peaks = 64;
      follower_.configure({.enabled = true, .detections = true}, match,
                          {0, 0, size.width, size.height}, {0});
      follower_.replace_templates(std::vector<std::optional<std::size_t>>(1));
    }
    std::vector<Peak> peaks;
    for (const Box& box : boxes) peaks.push_back(peak_of_detection(0, box, 1));
    const auto places = follower_.places_for_filters(++number_, peaks);
    std::vector<FilterDetection> found;
    require(filters_.locate(frame, places, found));
    follower_.update(number_, peaks, places, found);
    require(filters_.train(frame, follower_.training_samples()));
    filters_.keep_only(follower_.ids());
    std::vector<Numbered> seen;
    for (const Target& target : follower_.targets())
      if (!target.lost)
        seen.push_back(
            {{target.peak.x, target.peak.y, double(target.peak.width), double(target.peak.height)},
             target.id});
    return seen;
  }

 private:
  Tracker filters_;
  Follower follower_;
  std::uint64_t number_ = 0;
};

struct Counts {
  int in_view = 0, covered = 0, boxes = 0, wrong = 0, switches = 0, frames = 0;
  std::size_t ids = 0;
  double seconds = 0;
};

/// Each person has at most one box, the one that overlaps them most, and keeps the one that had
/// their id before if that overlaps them enough.
void judge(const bench::MadeFrame& frame, const std::vector<Numbered>& seen,
           std::map<std::size_t, std::uint64_t>& last, std::set<std::uint64_t>& ids,
           Counts& counts) {
  constexpr double enough = 0.5;
  for (const Numbered& one : seen) {
    ids.insert(one.id);
    ++counts.boxes;
    double most = 0;
    for (const auto& truth : frame.truth)
      if (truth)
        most = std::max(most, overlap(one.box, {truth->x, truth->y, truth->width, truth->height}));
    counts.wrong += most < 0.1;
  }
  for (std::size_t i = 0; i < frame.truth.size(); ++i) {
    if (!frame.truth[i]) continue;
    ++counts.in_view;
    const Box box{frame.truth[i]->x, frame.truth[i]->y, frame.truth[i]->width,
                  frame.truth[i]->height};
    const Numbered* best = nullptr;
    for (const Numbered& one : seen) {
      if (overlap(one.box, box) < enough) continue;
      if (last.contains(i) && last[i] == one.id) {
        best = &one;
        break;
      }
      if (!best || overlap(one.box, box) > overlap(best->box, box)) best = &one;
    }
    if (!best) continue;
    ++counts.covered;
    counts.switches += last.contains(i) && last[i] != best->id;
    last[i] = best->id;
  }
}

template <class Following>
Counts play(const Device& device, std::uint32_t seed, int frames, int pace) {
  const bench::SyntheticSequence crowd = bench::crowd_sequence(seed, frames);
  Following following(device);
  std::mt19937 lot(seed + 1000);
  std::map<std::size_t, std::uint64_t> last;
  std::set<std::uint64_t> ids;
  Counts counts;
  for (int i = 0; i < frames; ++i) {
    const bench::MadeFrame frame = crowd.frame(i);
    const std::vector<Box> boxes = i % pace ? std::vector<Box>() : detect(frame, lot);
    const auto begin = std::chrono::steady_clock::now();
    const auto seen = following.update(frame.image, boxes);
    counts.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    judge(frame, seen, last, ids, counts);
  }
  counts.frames = frames;
  counts.ids = ids.size();
  return counts;
}

template <class Following>
void bench_all(const char* name, const Device& device, int begin, int end, int frames) {
  for (const int pace : {1, 2, 5}) {
    Counts all;
    for (int crowd = begin; crowd < end; ++crowd) {
      const Counts one = play<Following>(device, 1 + 100 * crowd, frames, pace);
      all.in_view += one.in_view;
      all.covered += one.covered;
      all.boxes += one.boxes;
      all.wrong += one.wrong;
      all.switches += one.switches;
      all.ids += one.ids;
      all.frames += one.frames;
      all.seconds += one.seconds;
    }
    std::printf("%s,%d,%.3f,%d,%.4f,%zu,%.2f\n", name, pace, double(all.covered) / all.in_view,
                all.switches, double(all.wrong) / std::max(1, all.boxes), all.ids,
                1000 * all.seconds / all.frames);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Backend backend = Backend::cpu;
  int frames = 150, first = 0, crowds = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--backend=cuda")
      backend = Backend::cuda;
    else if (arg.starts_with("--frames="))
      frames = std::stoi(arg.substr(9));
    else if (arg.starts_with("--first="))
      first = std::stoi(arg.substr(8));
    else if (arg.starts_with("--crowds="))
      crowds = std::stoi(arg.substr(9));
    else if (arg != "--backend=cpu")
      fail({Code::invalid_argument,
            "usage: crowd_bench [--backend=cpu|cuda] [--frames=N] "
            "[--first=N] [--crowds=N]"});
  }
  const Device device = require(open_device(backend));
  std::printf("tracker,pace,covered,switches,wrong,ids,ms\n");
  bench_all<ByOverlap>("overlap", device, first, first + crowds, frames);
  bench_all<ByFilters>("filters", device, first, first + crowds, frames);
}
