// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A thread in which a device's primary context is current, for work beside that of the caller.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <xcorr/device.hpp>
#include <xcorr/stop.hpp>

namespace xcorr {

class DeviceThread {
 public:
  explicit DeviceThread(const Device& device) : thread_([this, device] { run(device); }) {}
  DeviceThread(const DeviceThread&) = delete;
  ~DeviceThread();

  /// Begins work there, which is small (a closure of two pointers takes no memory). finish() must
  /// follow. The work heeds the caller's request to stop.
  void begin(std::function<Status()> work);
  /// Waits for it.
  Status finish();
  Status run(std::function<Status()> work) {
    begin(std::move(work));
    return finish();
  }

 private:
  void run(const Device& device);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<Status()> work_;  ///< none: it has been done
  const Stop* stop_ = nullptr;
  Status done_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace xcorr
