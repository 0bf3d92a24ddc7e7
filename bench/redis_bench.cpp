// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times what xcorrredis adds to a frame, in the thread that the frames come from, with a server of
// its own that is up, down and stalled, at a camera's rate and as fast as it goes. Each frame
// passes `identity` right before: what that one takes is GStreamer's share and the machine's noise.
// A Markdown table on standard output.
//
//   redis_bench [--frames=N] [--peaks=N] [--rate=N]
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gst/gst.h>

#include "gstcudaxcorrmeta.h"
#include "require.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  gint frames = 5000, peaks = 4, rate = 200;
};

[[noreturn]] void fail_with(const std::string& text) {
  fail({xcorr::Code::invalid_argument, text});
}

/// redis-server in a folder of its own, on a Unix socket.
class Server {
 public:
  Server() {
    std::string folder = std::filesystem::temp_directory_path() / "redis-bench-XXXXXX";
    if (!mkdtemp(folder.data())) fail_with("cannot make a folder");
    folder_ = folder;
  }
  ~Server() {
    kill();
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;

  std::string address() const { return "unix:" + socket(); }
  void start() {
    process_ = fork();
    if (process_ == 0) {
      fclose(stdout);
      execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket().c_str(),
             "--dir", folder_.c_str(), "--save", "", static_cast<char*>(nullptr));
      _exit(127);
    }
    while (!std::filesystem::exists(socket())) {
      if (waitpid(process_, nullptr, WNOHANG) == process_) fail_with("redis-server does not start");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  void stall() const { ::kill(process_, SIGSTOP); }
  void kill() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
    std::filesystem::remove(socket());
  }

 private:
  std::string socket() const { return folder_ / "socket"; }

  std::filesystem::path folder_;
  pid_t process_ = -1;
};

/// What cudaxcorr finds in a frame with so many peaks.
class Result {
 public:
  explicit Result(int peaks) {
    gst_object_unref(gst_element_factory_make("cudaxcorr", nullptr));  // which registers the meta
    std::string text =
        "result, camera=(string)gate, frame-width=(int)1920, frame-height=(int)1080, "
        "processing-time=(guint64)4292853, backend=(string)cpu, kernel=(string)fft, "
        "analysed=(boolean)true, peaks=(structure)<";
    for (int i = 0; i < peaks; ++i) {
      text += i ? ", " : " ";
      text +=
          "[ peak, template=(uint)0, template-id=(uint)1, label=(string)part, id=(guint64)7, "
          "x=(double)414.938406, y=(double)177.988262, width=(double)56, height=(double)44, "
          "nx=(double)0.216114, ny=(double)0.164804, nwidth=(double)0.029166, "
          "nheight=(double)0.040740, center-x=(double)442.438406, center-y=(double)199.488262, "
          "angle=(double)0, scale=(double)1, score=(double)0.997164, confidence=(double)0.997164, "
          "inverted=(boolean)false, lost=(boolean)false, state=(string)tracked, corners=(double)"
          "< 414.438406, 177.488262, 470.438406, 177.488262, 470.438406, 221.488262, 414.438406, "
          "221.488262 > ]";
    }
    structure_ = gst_structure_from_string((text + " >").c_str(), nullptr);
    if (!structure_) fail_with("the result is no structure");
  }
  ~Result() { gst_structure_free(structure_); }
  Result(const Result&) = delete;

  GstBuffer* frame(GstClockTime pts) const {
    GstBuffer* buffer = gst_buffer_new();
    GST_BUFFER_PTS(buffer) = pts;
    GstStructure* result =
        gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, GST_CUDA_XCORR_META_NAME));
    gst_structure_foreach(
        structure_,
        [](GQuark name, const GValue* value, gpointer to) -> gboolean {
          gst_structure_id_set_value(static_cast<GstStructure*>(to), name, value);
          return TRUE;
        },
        result);
    return buffer;
  }

 private:
  GstStructure* structure_;
};

/// An element between two pads of this thread's, and how long frames take through it.
class Stage {
 public:
  explicit Stage(const std::string& launch)
      : element_(gst_parse_launch(launch.c_str(), nullptr)),
        source_(gst_pad_new("source", GST_PAD_SRC)),
        sink_(gst_pad_new("sink", GST_PAD_SINK)) {
    if (!element_) fail_with("there is no element " + launch);
    gst_pad_set_chain_function(sink_, [](GstPad*, GstObject*, GstBuffer* buffer) {
      gst_buffer_unref(buffer);
      return GST_FLOW_OK;
    });
    link(source_, gst_element_get_static_pad(element_, "sink"));
    link(gst_element_get_static_pad(element_, "src"), sink_);
    gst_pad_set_active(sink_, TRUE);
    gst_pad_set_active(source_, TRUE);
    gst_element_set_state(element_, GST_STATE_PLAYING);
    gst_pad_push_event(source_, gst_event_new_stream_start("frames"));
    GstCaps* caps = gst_caps_new_empty_simple("video/x-raw");
    gst_pad_push_event(source_, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(source_, gst_event_new_segment(&segment));
  }
  ~Stage() {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_object_unref(element_);
    gst_object_unref(source_);
    gst_object_unref(sink_);
  }
  Stage(const Stage&) = delete;

  void pass(GstBuffer* buffer) {
    const auto begin = Clock::now();
    gst_pad_push(source_, buffer);
    us_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }

  void print(const char* server, int rate) {
    std::sort(us_.begin(), us_.end());
    const auto at = [&](double share) { return us_[std::size_t(share * double(us_.size() - 1))]; };
    const std::string paced = rate ? std::to_string(rate) : "any";
    std::printf("| %s | %s | %s | %.1f | %.1f | %.1f |\n", server, paced.c_str(),
                GST_OBJECT_NAME(gst_element_get_factory(element_)), at(0.5), at(0.99), at(1));
    std::fflush(stdout);
  }

 private:
  static void link(GstPad* from, GstPad* to) {
    if (gst_pad_link(from, to) != GST_PAD_LINK_OK) fail_with("pads cannot be linked");
  }

  GstElement* const element_;
  GstPad *const source_, *const sink_;
  std::vector<double> us_;
};

void measure(const Options& options, const Result& result, const Server& server, const char* state,
             int rate) {
  Stage identity("identity"), redis("xcorrredis address=" + server.address());
  auto next = Clock::now();
  for (int i = 0; i < options.frames; ++i) {
    if (rate) std::this_thread::sleep_until(next += std::chrono::nanoseconds(1000000000 / rate));
    GstBuffer* frame = result.frame(GstClockTime(i) * GST_MSECOND);
    identity.pass(gst_buffer_ref(frame));
    redis.pass(frame);
  }
  identity.print(state, rate);
  redis.print(state, rate);
}

Options parse(int* argc, char*** argv) {
  Options options;
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options.frames, "in each row", "N"},
      {"peaks", 0, 0, G_OPTION_ARG_INT, &options.peaks, "in each frame", "N"},
      {"rate", 0, 0, G_OPTION_ARG_INT, &options.rate, "of a camera, frames/s", "N"},
      {}};
  GOptionContext* context = g_option_context_new(nullptr);
  g_option_context_add_main_entries(context, entries, nullptr);
  g_option_context_add_group(context, gst_init_get_option_group());
  GError* error = nullptr;
  if (!g_option_context_parse(context, argc, argv, &error)) fail_with(error->message);
  g_option_context_free(context);
  if (options.frames < 1 || options.peaks < 0 || options.rate < 1)
    fail_with("a number is too small");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(&argc, &argv);
  if (gchar* found = g_find_program_in_path("redis-server")) {
    g_free(found);
  } else {
    std::printf("SKIPPED: there is no redis-server\n");
    return 77;
  }
  const Result result(options.peaks);
  Server server;
  std::printf("%d frames a row, %d peaks a frame\n\n", options.frames, options.peaks);
  std::printf("| server | frames/s | element | median us | 99 %% us | most us |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const int rate : {options.rate, 0}) {
    measure(options, result, server, "down", rate);
    server.start();
    measure(options, result, server, "up", rate);
    server.stall();
    measure(options, result, server, "stalled", rate);
    server.kill();
  }
  return 0;
}
