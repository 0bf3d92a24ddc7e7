// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template files and samples from strangers: none opens a connection, is read without end, keeps
// the caller longer than the time limit or is read past its end, whatever a decoder does.
#include <thread>

#include "listener.hpp"
#include "live_templates.hpp"
#include "stubborn_decoder.hpp"

namespace {

std::string written(const std::string& name, const std::string& bytes) {
  write_file(temporary(name), bytes);
  return temporary(name);
}

void assert_refused(Finder& finder, const std::string& file, const char* reason) {
  assert_equals_int(add_file(finder, file), 0);
  assert_warned(finder, reason, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
}

// ---- decoders that never end ------------------------------------------------------------------

/// What the limit promises, and a second for a busy machine.
constexpr Seconds longest(11);

ELEMENT_TEST(decoders_that_never_end) {
  stubborn_decoder::install();
  const std::string good = save(texture(16, 12), "good.png");
  Finder finder("");
  std::vector<std::thread> threads;
  for (const char* how : {"spins", "blocks", "does not stop", "blocks"})
    threads.emplace_back([how, file = stubborn_decoder::file_that(how)] {
      Finder finder("");
      const Seconds time = time_of([&] { assert_refused(finder, file, "took too long"); });
      fail_unless(time < longest, "%s: %f s", how, time.count());
    });
  for (std::thread& thread : threads) thread.join();

  // No more than four are left behind.
  const Seconds time = time_of([&] { assert_refused(finder, good, "too many earlier files"); });
  fail_unless(time < Seconds(1), "%f s", time.count());

  stubborn_decoder::release();
  guint id = 0;
  for (int i = 0; i < 100 && id == 0; ++i) {
    g_usleep(100'000);
    id = add_file(finder, good);
  }
  fail_unless(id != 0, "files are refused although no decoder is busy");
}

/// gst-check ends each test by gst_deinit(), as gst-launch-1.0 ends; that waits for GStreamer's own
/// threads.
ELEMENT_TEST(end_of_a_program_with_a_decoder_that_never_ends) {
  stubborn_decoder::install();
  Finder finder("");
  assert_refused(finder, stubborn_decoder::file_that("blocks"), "took too long");
}

/// It is stopped where it announces the size.
ELEMENT_TEST(decoder_of_an_image_that_is_too_large) {
  stubborn_decoder::install();
  Finder finder("");
  assert_refused(finder, stubborn_decoder::file_that("is large"), "16384x16384");
  fail_unless(!stubborn_decoder::has_allocated());
}

// ---- the network ------------------------------------------------------------------------------

/// A port of this machine that nobody should connect to.
class Trap {
 public:
  bool has_visitor() const {
    const int visitor = accept(listener_.socket, nullptr, nullptr);
    if (visitor >= 0) close(visitor);
    return visitor >= 0;
  }

 private:
  const Listener listener_{8, SOCK_NONBLOCK};

 public:
  const std::string place = "127.0.0.1:" + std::to_string(listener_.port());
};

/// A file that leads there.
std::string lure(int kind, const std::string& place) {
  switch (kind) {
    case 0:
      return "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nhttp://" + place + "/a.m3u8\n";
    case 1:
      return "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://" + place +
             "/a.ts\n#EXT-X-ENDLIST\n";
    case 2:
      return "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" "
             "mediaPresentationDuration=\"PT1S\" "
             "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period><AdaptationSet "
             "mimeType=\"video/mp4\"><Representation id=\"1\" bandwidth=\"1000\" "
             "codecs=\"avc1.42c00d\" width=\"64\" height=\"48\"><BaseURL>http://" +
             place +
             "/v.mp4</BaseURL><SegmentBase indexRange=\"0-100\"/></Representation></AdaptationSet>"
             "</Period></MPD>";
    case 3:
      return "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\na=control:rtsp://" +
             place + "/\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n";
    case 4:
      return "# images\r\nhttp://" + place + "/a.png\r\n";
    case 5:
      return "<asx version=\"3.0\"><entry><ref href=\"http://" + place + "/a\"/></entry></asx>";
    default:
      return "<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"64\" height=\"48\"><image "
             "width=\"64\" height=\"48\" xlink:href=\"http://" +
             place + "/a.png\"/></svg>";
  }
}
constexpr int lure_count = 7;

ELEMENT_TESTS(file_that_leads_to_the_network, 0, lure_count) {
  const Trap trap;
  Finder finder("");
  for (const char* name : {"lure.png", "lure"}) {
    assert_refused(finder, written(name, lure(__i__, trap.place)), name);
    g_usleep(100'000);
    fail_unless(!trap.has_visitor(), "it was visited");
  }
}

// ---- special files ----------------------------------------------------------------------------

ELEMENT_TEST(files_without_an_end) {
  const std::string sparse = written("sparse.png", "");
  fail_unless(truncate(sparse.c_str(), gint64{1} << 40) == 0);
  Finder finder("");
  const Seconds time = time_of([&] {
    assert_refused(finder, sparse, "larger than 128 MiB");
    assert_refused(finder, "/dev/zero", "not a regular file");
    // Where one may read it, it waits for the kernel's next message.
    for (const char* file : {"/proc/kmsg", "/proc/self/pagemap", "/proc/self/mem"})
      assert_refused(finder, file, "");
  });
  fail_unless(time < Seconds(2), "%f s", time.count());
}

// ---- names ------------------------------------------------------------------------------------

/// GLib's and GStreamer's warnings would fail this test.
ELEMENT_TEST(names_that_are_not_utf8) {
  const Gray scene = texture(60, 40);
  const std::string png = read_file(save(crop(scene, 9, 9, 16, 12), "a.png"));
  const std::string file = written("a\xff\xe4.png", png);
  Finder finder(exact);
  fail_unless(add_file(finder, file) != 0);
  fail_unless(add(finder, sample_of(crop(scene, 9, 9, 16, 12)), "b\xff") != 0);
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 2);
  assert_text(peaks[0].label, "a\ufffd\ufffd");
  assert_text(peaks[1].label, "b\ufffd");
  assert_refused(finder, temporary("\xff-missing.png"), "\ufffd-missing.png");
  g_object_set(finder.element, "template", file.c_str(), nullptr);
  assert_equals_int(finder.find(scene).peaks.size(), 3);
}

// ---- samples ----------------------------------------------------------------------------------

Sample sample_with(const char* text, gsize bytes) {
  GstCaps* caps = gst_caps_from_string(text);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
  const Sample sample(gst_sample_new(buffer, caps, nullptr, nullptr), gst_sample_unref);
  gst_buffer_unref(buffer);
  gst_caps_unref(caps);
  return sample;
}

/// Half of the lines that its caps say.
ELEMENT_TEST(field_of_an_interlaced_image) {
  const Sample field = sample_with(
      "video/x-raw(format:Interlaced), format=GRAY8, width=64, height=48, framerate=25/1, "
      "interlace-mode=alternate, field-order=top-field-first",
      64 * 24);
  Finder finder("");
  assert_equals_int(add(finder, field), 0);
  assert_warned(finder, "one field of an interlaced image");
  g_object_set(finder.element, "template-sample", field.get(), nullptr);
  assert_warned(finder, "one field of an interlaced image");
}

/// The caps may say anything.
ELEMENT_TEST(samples_with_odd_caps) {
  const Gray scene = texture(60, 40);
  Finder finder("enable-capture=true");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  const auto pass = [&] {
    gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene)));
  };
  pass();
  for (const char* caps :
       {"video/x-raw, format=GRAY8, width=0, height=0, framerate=0/1",
        "video/x-raw, format=GRAY8, width=-5, height=7, framerate=0/1",
        "video/x-raw, format=GRAY8, width=2147483647, height=2147483647, framerate=0/1",
        "video/x-raw, format=NONE, width=64, height=48", "video/x-raw, width=64, height=48",
        "video/x-raw, format=GRAY8, width=(int)[1, 64], height=48", "image/png", "ANY", "EMPTY"}) {
    fail_unless(add(finder, sample_with(caps, 64 * 48)) == 0, "%s", caps);
    assert_warned(finder, "");
  }
  pass();
  fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
}

}  // namespace
