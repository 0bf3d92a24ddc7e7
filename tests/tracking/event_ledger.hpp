// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What has been told of targets, and whether it adds up: all that entered and neither left nor were
// dropped are there, and no others.
#pragma once

#include <map>
#include <set>
#include <vector>

#include <xcorr/follower.hpp>

class EventLedger {
 public:
  /// Whether each can have happened after what was told before.
  bool take(const std::vector<xcorr::TargetEvent>& events) {
    bool possible = true;
    for (const auto& [event, target] : events) {
      const auto known = lost_.find(target.id);
      const bool there = known != lost_.end();
      ++counts_[event];
      switch (event) {
        case xcorr::TrackEvent::entered:
          possible &= entered_.insert(target.id).second;
          lost_[target.id] = false;
          break;
        case xcorr::TrackEvent::lost:
        case xcorr::TrackEvent::found:
          possible &= there && known->second == (event == xcorr::TrackEvent::found);
          lost_[target.id] = event == xcorr::TrackEvent::lost;
          break;
        case xcorr::TrackEvent::left:
        case xcorr::TrackEvent::dropped:
          possible &= there;
          lost_.erase(target.id);
          break;
      }
    }
    return possible;
  }

  /// Whether these are what is there, but for new ones that are not confirmed yet.
  bool agrees_with(const std::vector<xcorr::Target>& targets) const {
    std::set<std::uint64_t> expected, found;
    for (const auto& [id, lost] : lost_) expected.insert(id);
    for (const xcorr::Target& target : targets)
      if (target.lost || target.state != xcorr::TrackState::tentative) found.insert(target.id);
    return found == expected;
  }

  int count(xcorr::TrackEvent event) const {
    const auto entry = counts_.find(event);
    return entry == counts_.end() ? 0 : entry->second;
  }

 private:
  std::set<std::uint64_t> entered_;
  std::map<std::uint64_t, bool> lost_;  ///< of those that are there, whether they are lost
  std::map<xcorr::TrackEvent, int> counts_;
};
