// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decode.hpp"

#include <algorithm>
#include <array>

#include "../require.hpp"
#include "gstcudaxcorrmeta.h"
#include "run.hpp"

namespace bench {
namespace {

constexpr int turns = 3;

/// What comes to the sink.
struct Arrivals {
  int frames = 0, unanalysed = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::string kernel;

  double per_s() const { return (frames - 1) / (1e-9 * double(last_ns - first_ns)); }
};

GstPadProbeReturn note(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto& arrivals = *static_cast<Arrivals*>(data);
  arrivals.last_ns = now_ns();
  if (arrivals.frames++ == 0) arrivals.first_ns = arrivals.last_ns;
  const GstStructure* found = gst_cuda_xcorr_get_result(GST_PAD_PROBE_INFO_BUFFER(info));
  gboolean analysed = FALSE;
  if (!found || !gst_structure_get_boolean(found, "analysed", &analysed) || !analysed)
    ++arrivals.unanalysed;
  else
    arrivals.kernel = gst_structure_get_string(found, "kernel");
  return GST_PAD_PROBE_OK;
}

Arrivals play_file(const Scene& scene, const std::string& file, const std::string& rest) {
  const std::string launch =
      "filesrc name=file ! parsebin ! " + rest + " ! fakesink name=end sync=false";
  GError* error = nullptr;
  GstElement* pipeline =
      gst_parse_launch_full(launch.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!pipeline) fail({xcorr::Code::invalid_argument, launch + ": " + error->message});
  const auto with = [&](const char* name, auto use) {
    GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
    if (element) use(element);
    g_clear_object(&element);
  };
  with("file",
       [&](GstElement* source) { g_object_set(source, "location", file.c_str(), nullptr); });
  with("match", [&](GstElement* element) {
    GstSample* patch = scene.patch();
    g_object_set(element, "template-sample", patch, nullptr);
    gst_sample_unref(patch);
  });
  Arrivals arrivals;
  with("end", [&](GstElement* sink) {
    GstPad* pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note, &arrivals, nullptr);
    gst_object_unref(pad);
  });
  play(pipeline);
  if (arrivals.frames < 2) fail({xcorr::Code::invalid_argument, file + ": no video"});
  return arrivals;
}

}  // namespace

DecodeResult decode(const Scene& scene, const std::string& file, const std::string& decoder,
                    const std::string& element) {
  DecodeResult result;
  std::array<double, turns> bare{}, analysed{};
  for (int turn = 0; turn < turns; ++turn) {
    bare[turn] = play_file(scene, file, decoder).per_s();
    const Arrivals arrivals =
        play_file(scene, file, decoder + " ! cudaxcorr name=match " + element);
    analysed[turn] = arrivals.per_s();
    result.frames = arrivals.frames;
    result.unanalysed += arrivals.unanalysed;
    result.kernel = arrivals.kernel;
  }
  std::ranges::sort(bare);
  std::ranges::sort(analysed);
  result.bare_per_s = bare[turns / 2];
  result.analysed_per_s = analysed[turns / 2];
  return result;
}

}  // namespace bench
