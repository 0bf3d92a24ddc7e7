// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/device_thread.hpp"

#include <utility>

#include <xcorr/exceptions.hpp>

namespace xcorr {

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeviceThread::begin(std::function<Status()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    stop_ = current_stop();
  }
  changed_.notify_all();
}

Status DeviceThread::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
  return std::move(done_);
}

void DeviceThread::run(const Device& device) {
  const auto status_of_work = [&]() -> Status {
    try {
      const StopScope scope(stop_);
      const Status current = make_current(device);
      return current.ok() ? work_() : current;
    } catch (const std::exception& thrown) {
      return status_of(thrown);
    }
  };
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || ends_; });
    if (!work_) return;
    lock.unlock();  // nobody changes the work while it is done
    Status done = status_of_work();
    lock.lock();
    done_ = std::move(done);
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace xcorr
