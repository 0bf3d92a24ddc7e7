// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times pipelines with cudaxcorr in them, as an application has them: rate, added latency, several
// streams, endurance, beside a decoder, and a live source that a CPU must keep up with. One CSV
// line a pipeline on standard output. Ends with 1 when a frame was not analysed, the patch in it
// was not found where it is, or memory grew.
//
//   pipeline_bench MODE [OPTION...]      pipeline_bench --help has both
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include <xcorr/types.hpp>

#include "machine.hpp"
#include "pipeline/decode.hpp"
#include "pipeline/latency_tracer.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/run.hpp"
#include "pipeline/template_turnover.hpp"
#include "require.hpp"

namespace {

using namespace bench;

struct Options {
  std::string backend = "auto";
  gint width = 1920, height = 1080, side = 64;
  gint frames = 0, rate = 0, streams = 8, async_depth = 4, search_margin = 64;
  gboolean track = FALSE, ordinary_memory = FALSE;
  std::string properties, file;
  std::string decoder = "nvh264dec ! video/x-raw(memory:CUDAMemory)";
};

/// A line of the CSV; what a mode does not measure stays 0.
struct Row {
  const char* mode;
  int streams = 1, rate = 0, async_depth = 1;
  bool track = false;
  RunResult result{};
  double bare_per_s = 0;
  std::vector<double> tracer_ms{};
  double host_rise_mib = 0, device_rise_mib = 0;
};

class Session {
 public:
  Session(const Options& options, xcorr::Device device)
      : options_(options), device_(std::move(device)), scene_(size(), options.side) {}

  bool throughput() { return measure({.mode = "throughput", .async_depth = depth()}, 20000); }

  bool latency() {
    const bool unpaced = measure({.mode = "latency"}, 10000);
    return measure({.mode = "latency", .rate = rate_or(60)}, 600) && unpaced;
  }

  bool streams() {
    const int count = options_.streams;
    const bool live = measure({.mode = "streams", .streams = count, .rate = rate_or(60)}, 900);
    const bool one = measure({.mode = "streams", .async_depth = depth()}, 10000);
    const bool all = measure({.mode = "streams", .streams = count, .async_depth = depth()}, 3000);
    return live && one && all;
  }

  bool live() { return measure({.mode = "live", .rate = rate_or(30), .track = true}, 600); }

  bool endurance() {
    constexpr int interval = 1000;
    MemoryWatch watch(device_.ordinal);
    TemplateTurnover turnover(size(), options_.side);
    Row row{.mode = "endurance", .async_depth = depth()};
    const int frames = frames_or(108000);
    const bool right = run_row(row, frames, [&](GstElement* element, int frame) {
      turnover.before_frame(element, frame);
      if (frame % std::min(interval, std::max(1, frames / 20)) == 0) watch.sample();
    });
    const MemoryWatch::Growth host = watch.host(), gpu = watch.device();
    row.host_rise_mib = host.rise_mib;
    row.device_rise_mib = gpu.rise_mib;
    print(row);
    std::printf(
        "# host memory %.1f to %.1f MiB, device memory %.1f to %.1f MiB, %d changes of templates\n",
        host.first_mib, host.last_mib, gpu.first_mib, gpu.last_mib, turnover.changes());
    const bool changed = turnover.changes() == (frames - 1) / TemplateTurnover::interval;
    return right && changed && std::max(host.rise_mib, gpu.rise_mib) < max_rise_mib;
  }

  bool decode() {
    if (options_.file.empty()) fail({xcorr::Code::invalid_argument, "decode needs --file"});
    Row row{.mode = "decode", .async_depth = depth(), .track = options_.track != 0};
    const DecodeResult d = bench::decode(scene_, options_.file, options_.decoder, properties(row));
    row.result.frames = d.frames;
    row.result.unanalysed = d.unanalysed;
    row.result.frames_per_s = d.analysed_per_s;
    row.result.kernel = d.kernel;
    row.bare_per_s = d.bare_per_s;
    print(row);
    return d.unanalysed == 0;
  }

  static void print_columns() {
    std::puts(
        "mode,backend,device,kernel,width,height,side,memory,track,async_depth,streams,rate,frames,"
        "frames_per_s,bare_per_s,unanalysed,wrong,added_p50_ms,added_p99_ms,tracer_p50_ms,"
        "tracer_p99_ms,cpu_ms,host_rise_mib,device_rise_mib");
  }

 private:
  xcorr::Size size() const { return {options_.width, options_.height}; }
  int frames_or(int usual) const { return options_.frames > 0 ? options_.frames : usual; }
  int rate_or(int usual) const { return options_.rate > 0 ? options_.rate : usual; }
  int depth() const { return options_.async_depth; }

  std::string properties(const Row& row) const {
    std::string text =
        "backend=" + options_.backend + " async-depth=" + std::to_string(row.async_depth);
    if (row.track)
      text +=
          " track=true tracker=template search-margin=" + std::to_string(options_.search_margin);
    return text + " " + options_.properties;
  }

  bool run_row(Row& row, int frames, std::function<void(GstElement*, int)> before_frame = nullptr) {
    row.track |= options_.track != 0;
    row.result = run(scene_, row.streams,
                     {frames, row.rate, properties(row), options_.ordinary_memory != 0,
                      std::move(before_frame)});
    const RunResult& r = row.result;
    return r.frames == row.streams * frames && r.unanalysed == 0 && r.wrong == 0;
  }

  bool measure(Row row, int frames) {
    const bool right = run_row(row, frames_or(frames));
    row.tracer_ms = take_element_latencies();
    print(row);
    return right;
  }

  void print(const Row& row) const {
    const RunResult& r = row.result;
    std::printf("%s,%s,\"%s\",%s,%d,%d,%d,%s,%d,%d,%d,%d,%d,", row.mode, name_of(device_.backend),
                device_.name.c_str(), r.kernel.c_str(), options_.width, options_.height,
                options_.side, options_.ordinary_memory ? "ordinary" : "proposed", row.track,
                row.async_depth, row.streams, row.rate, r.frames);
    std::printf("%.1f,%.1f,%d,%d,", r.frames_per_s, row.bare_per_s, r.unanalysed, r.wrong);
    std::printf("%.4f,%.4f,%.4f,%.4f,%.4f,%.2f,%.2f\n", quantile(r.added_ms, 0.5),
                quantile(r.added_ms, 0.99), quantile(row.tracer_ms, 0.5),
                quantile(row.tracer_ms, 0.99), r.cpu_ms, row.host_rise_mib, row.device_rise_mib);
    std::fflush(stdout);
  }

  const Options& options_;
  const xcorr::Device device_;
  const Scene scene_;
};

struct Mode {
  const char* name;
  const char* help;
  bool (Session::*run)();
};

constexpr Mode modes[] = {
    {"throughput", "one stream, as fast as it goes", &Session::throughput},
    {"latency", "one frame in work, as fast as it goes and live: the time added to each",
     &Session::latency},
    {"streams", "several live streams in one process; then one and several as fast as they go",
     &Session::streams},
    {"live", "one live stream with tracks", &Session::live},
    {"endurance", "an hour's frames with templates added and removed: memory stays flat",
     &Session::endurance},
    {"decode", "a file decoded with and without cudaxcorr", &Session::decode},
};

xcorr::Device open(std::string_view backend) {
  if (backend != "cpu") {
    auto gpu = xcorr::open_device(xcorr::Backend::cuda);
    if (gpu.ok() || backend == "cuda") return require(gpu);
  }
  return require(xcorr::open_device(xcorr::Backend::cpu));
}

void take(gchar* given, std::string& option) {
  if (given) option = given;
  g_free(given);
}

const Mode& parse(int argc, char** argv, Options& o) {
  gchar *backend = nullptr, *properties = nullptr, *file = nullptr, *decoder = nullptr;
  const GOptionEntry entries[] = {
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "auto, cuda or cpu", nullptr},
      {"width", 0, 0, G_OPTION_ARG_INT, &o.width, "Of frames", nullptr},
      {"height", 0, 0, G_OPTION_ARG_INT, &o.height, "Of frames", nullptr},
      {"side", 0, 0, G_OPTION_ARG_INT, &o.side, "Of the template", nullptr},
      {"frames", 0, 0, G_OPTION_ARG_INT, &o.frames, "Of each stream, instead of the usual",
       nullptr},
      {"rate", 0, 0, G_OPTION_ARG_INT, &o.rate, "Of live streams, instead of the usual", nullptr},
      {"streams", 0, 0, G_OPTION_ARG_INT, &o.streams, "At once", nullptr},
      {"track", 0, 0, G_OPTION_ARG_NONE, &o.track, "Follow the patch", nullptr},
      {"ordinary-memory", 0, 0, G_OPTION_ARG_NONE, &o.ordinary_memory,
       "Frames not in the proposed pool", nullptr},
      {"search-margin", 0, 0, G_OPTION_ARG_INT, &o.search_margin, "With tracks", nullptr},
      {"async-depth", 0, 0, G_OPTION_ARG_INT, &o.async_depth, "Of streams that are not live",
       nullptr},
      {"properties", 0, 0, G_OPTION_ARG_STRING, &properties, "More, of cudaxcorr", nullptr},
      {"file", 0, 0, G_OPTION_ARG_STRING, &file, "To decode", nullptr},
      {"decoder", 0, 0, G_OPTION_ARG_STRING, &decoder, "Elements", nullptr},
      {}};
  std::string summary;
  for (const Mode& mode : modes) summary.append(mode.name).append(": ").append(mode.help) += '\n';
  GOptionContext* context = g_option_context_new("MODE");
  g_option_context_set_summary(context, summary.c_str());
  g_option_context_add_main_entries(context, entries, nullptr);
  GError* error = nullptr;
  if (!g_option_context_parse(context, &argc, &argv, &error))
    fail({xcorr::Code::invalid_argument, error->message});
  g_option_context_free(context);
  take(backend, o.backend);
  take(properties, o.properties);
  take(file, o.file);
  take(decoder, o.decoder);
  const auto* mode = std::ranges::find(modes, std::string_view(argc == 2 ? argv[1] : ""),
                                       [](const Mode& m) { return std::string_view(m.name); });
  if (mode == std::end(modes)) fail({xcorr::Code::invalid_argument, "which mode? See --help"});
  return *mode;
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = "pipeline_bench";
  for (int i = 1; i < argc; ++i) command.append(" ").append(argv[i]);
  Options options;
  const Mode& mode = parse(argc, argv, options);
  const bool tracing = mode.run == &Session::latency && enable_latency_tracer();
  gst_init(nullptr, nullptr);
  if (tracing) read_latency_tracer();
  const xcorr::Device device = open(options.backend);
  std::printf("# %s; %s\n", description_of(device, CUDA_TOOLKIT).c_str(), command.c_str());
  Session::print_columns();
  Session session(options, device);
  return (session.*mode.run)() ? 0 : 1;
}
