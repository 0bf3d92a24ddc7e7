// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What an application does at random in the test `chaos`, from several threads at a time: any
// property, any signal, pads, queries, events from downstream, flushes, stops and starts.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "chaos_random.hpp"
#include "chaos_stream.hpp"

class ChaosApplication {
 public:
  ChaosApplication(GstElement* element, ChaosStream& stream);
  ~ChaosApplication();
  ChaosApplication(const ChaosApplication&) = delete;

  /// Of any thread.
  void step(Random& random);
  /// All properties as at first, no templates but these, no pad besides.
  void set_back(const std::string& file);
  /// From NULL to PLAYING. False if the settings do not allow it.
  bool start();

 private:
  void set_property(Random& random, GParamSpec* spec);
  void read_properties();
  void change_templates(Random& random);
  void change_pad(Random& random);
  void release_pad();
  void query(Random& random);
  void send_upstream(Random& random);
  void stop_and_start(Random& random);
  void flush();
  void empty_bus();

  GstElement* element_;
  ChaosStream& stream_;
  GstBus* bus_ = gst_bus_new();
  std::vector<GParamSpec*> properties_;
  std::vector<std::string> files_;
  std::vector<GstSample*> samples_;
  std::mutex state_, pads_, ids_;  ///< one thread at a time stops or flushes, or changes pads
  GstPad *response_ = nullptr, *response_sink_ = nullptr;
  std::vector<guint> added_;
};
