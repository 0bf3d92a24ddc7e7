// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/decode.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "matching/file_contents.h"

namespace cudaxcorr {
namespace {

constexpr auto time_limit = std::chrono::seconds(10);
/// Within it a decoder that can be stopped is stopped, and its thread ends.
constexpr GstClockTime decoder_time_limit = 9 * GST_SECOND;
/// Each may hold memory and keep a CPU core busy for as long as the process lives.
constexpr int max_abandoned = 4;

/// Shared by the thread that decodes and the one that waits for it.
struct Decoding {
  const std::string file;
  const unsigned max_pixels;
  bool ended = false, abandoned = false;
  DecodedImage image{};
  std::string reason{};
};

// For all decodings of the process. Never destroyed: an abandoned thread may outlive main().
struct Guard {
  std::mutex mutex;
  std::condition_variable ended;
  int abandoned = 0;
};
Guard& guard() {
  static Guard& guard = *new Guard;
  return guard;
}

DecodedImage read_and_decode(const Decoding& decoding, std::string& reason) {
  const Contents contents = read_file(decoding.file, reason);
  return contents ? decode(contents, decoding.max_pixels, decoder_time_limit, reason)
                  : DecodedImage();
}

gpointer run(gpointer data) {
  const std::unique_ptr<std::shared_ptr<Decoding>> shared(
      static_cast<std::shared_ptr<Decoding>*>(data));
  Decoding& decoding = **shared;
  std::string reason;
  DecodedImage image = read_and_decode(decoding, reason);
  const std::lock_guard lock(guard().mutex);
  decoding.image = std::move(image);
  decoding.reason = std::move(reason);
  decoding.ended = true;
  if (decoding.abandoned) --guard().abandoned;
  guard().ended.notify_all();
  return nullptr;
}

}  // namespace

DecodedImage decode(const std::string& file, unsigned max_pixels, std::string& reason) {
  const auto refuse = [&](const char* text) {
    reason = text;
    return DecodedImage();
  };
  std::unique_lock lock(guard().mutex);
  if (guard().abandoned >= max_abandoned)
    return refuse("too many earlier files are still being decoded");
  const auto decoding = std::make_shared<Decoding>(Decoding{file, max_pixels});
  auto handed_over = std::make_unique<std::shared_ptr<Decoding>>(decoding);
  GThread* thread = g_thread_try_new("template", run, handed_over.get(), nullptr);
  if (!thread) return refuse("there is no thread to decode it in");
  handed_over.release();
  g_thread_unref(thread);
  if (!guard().ended.wait_for(lock, time_limit, [&] { return decoding->ended; })) {
    decoding->abandoned = true;
    ++guard().abandoned;
    return refuse("decoding took too long");
  }
  reason = decoding->reason;
  return std::move(decoding->image);
}

}  // namespace cudaxcorr
