// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Watches a folder, from a thread of its own: an application need not run a main loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace cudaxcorr {

class FolderWatch {
 public:
  /// `changed` is called from the thread once the folder has been quiet for a while after a change,
  /// `failed` at the start if it cannot be watched, with the reason.
  FolderWatch(std::string folder, std::function<void()> changed,
              std::function<void(std::string)> failed);
  /// Waits for a call of `changed`, unless it is called from there.
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;

  const std::string& folder() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< with the thread
  std::thread thread_;
};

}  // namespace cudaxcorr
