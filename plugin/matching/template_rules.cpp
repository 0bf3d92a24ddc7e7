// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/template_rules.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <yaml.h>

namespace cudaxcorr {
namespace {

constexpr std::size_t max_label_bytes = 256;

/// Of lists and names inside each other, and of anchors. libyaml takes time by the squares of both:
/// 20,000 brackets 0.6 s, 40,000 2.4 s.
constexpr int most_depth = 16, most_anchors = 4096;

/// A document, as libyaml has read it.
class Document {
 public:
  Document() = default;
  ~Document() {
    if (loaded_) yaml_document_delete(&document_);
  }
  Document(const Document&) = delete;

  /// Empty, or what is wrong.
  std::string load(yaml_parser_t& parser) {
    loaded_ = yaml_parser_load(&parser, &document_) == 1;
    if (loaded_) return {};
    return "line " + std::to_string(parser.problem_mark.line + 1) + ": " +
           (parser.problem ? parser.problem : "there is no memory");
  }
  yaml_node_t* root() { return yaml_document_get_root_node(&document_); }
  yaml_node_t* node(int index) { return yaml_document_get_node(&document_, index); }

 private:
  yaml_document_t document_{};
  bool loaded_ = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : made_(yaml_parser_initialize(&parser_) == 1) {
    if (made_)
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                   text.size());
  }
  ~Parser() {
    if (made_) yaml_parser_delete(&parser_);
  }
  Parser(const Parser&) = delete;

  explicit operator bool() const { return made_; }
  yaml_parser_t& operator*() { return parser_; }

 private:
  yaml_parser_t parser_{};
  bool made_;
};

/// Whether an event names what it begins.
bool has_anchor(const yaml_event_t& event) {
  return (event.type == YAML_SCALAR_EVENT && event.data.scalar.anchor) ||
         (event.type == YAML_SEQUENCE_START_EVENT && event.data.sequence_start.anchor) ||
         (event.type == YAML_MAPPING_START_EVENT && event.data.mapping_start.anchor);
}

/// Why it would take too long to load the text; empty if it does not, or if loading it fails.
std::string excess_of(std::string_view text) {
  Parser parser(text);
  int depth = 0, anchors = 0;
  for (bool ends = !parser; !ends;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&*parser, &event)) return {};
    const yaml_event_type_t type = event.type;
    const std::string line = "line " + std::to_string(event.start_mark.line + 1) + ": ";
    anchors += has_anchor(event);
    yaml_event_delete(&event);
    depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
    depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
    if (depth > most_depth) return line + "lists or names are too deep inside each other";
    if (anchors > most_anchors) return line + "there are too many anchors";
    ends = type == YAML_STREAM_END_EVENT || type == YAML_NO_EVENT;
  }
  return {};
}

std::optional<std::string_view> text_of(const yaml_node_t& node) {
  if (node.type != YAML_SCALAR_NODE) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(node.data.scalar.value),
                          node.data.scalar.length);
}

template <class Number>
std::optional<Number> number_of(const yaml_node_t& node) {
  const auto text = text_of(node);
  Number number{};
  if (!text || node.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

/// Fills the rules from nodes. What is wrong is in `reason`.
class Reader {
 public:
  Reader(Document& document, std::string& reason) : document_(document), reason_(reason) {}

  bool read(const yaml_node_t& root, FolderRules& rules) {
    return for_each_pair(root, "names of templates", [&](const std::string& name, auto& node) {
      TemplateRules& of_template = rules[name];
      return for_each_pair(
          node, "settings of a template",
          [&](const std::string& key, auto& value) { return set(of_template, key, value); });
    });
  }

 private:
  bool refuse(const yaml_node_t& node, const std::string& text) {
    reason_ = "line " + std::to_string(node.start_mark.line + 1) + ": " + text;
    return false;
  }

  template <class Take>
  bool for_each_pair(const yaml_node_t& node, const char* of_what, Take take) {
    if (node.type != YAML_MAPPING_NODE)
      return refuse(node, std::string("there must be ") + of_what + ", each with a colon");
    std::map<std::string, bool, std::less<>> seen;
    for (const auto* pair = node.data.mapping.pairs.start; pair < node.data.mapping.pairs.top;
         ++pair) {
      const yaml_node_t& key = *document_.node(pair->key);
      const auto name = text_of(key);
      if (!name) return refuse(key, "a name must be a text");
      if (!seen.emplace(*name, true).second)
        return refuse(key, "'" + std::string(*name) + "' is there twice");
      if (!take(std::string(*name), *document_.node(pair->value))) return false;
    }
    return true;
  }

  bool set(TemplateRules& rules, const std::string& key, const yaml_node_t& value) {
    if (key == "label") return set_label(rules, value);
    if (key == "threshold") return set_threshold(rules, value);
    if (key == "region") return set_region(rules, value);
    return refuse(
        value, "a template has no setting '" + key + "', only 'label', 'threshold' and 'region'");
  }

  bool set_label(TemplateRules& rules, const yaml_node_t& value) {
    const auto text = text_of(value);
    if (!text || text->empty() || text->size() > max_label_bytes ||
        text->find('\0') != std::string_view::npos)
      return refuse(value, "a 'label' is a text of 1 to 256 bytes");
    rules.label = *text;
    return true;
  }

  bool set_threshold(TemplateRules& rules, const yaml_node_t& value) {
    const auto number = number_of<double>(value);
    if (!number || !(*number >= -1 && *number <= 1))
      return refuse(value, "a 'threshold' is a number from -1 to 1");
    rules.threshold = number;
    return true;
  }

  bool set_region(TemplateRules& rules, const yaml_node_t& value) {
    std::vector<int> numbers;
    if (value.type == YAML_SEQUENCE_NODE)
      for (const auto* item = value.data.sequence.items.start; item < value.data.sequence.items.top;
           ++item)
        numbers.push_back(number_of<int>(*document_.node(*item)).value_or(-1));
    if (numbers.size() != 4 || numbers[0] < 0 || numbers[1] < 0 || numbers[2] < 1 || numbers[3] < 1)
      return refuse(value, "a 'region' is [x, y, width, height] in whole pixels");
    rules.region = {numbers[0], numbers[1], numbers[2], numbers[3]};
    return true;
  }

  Document& document_;
  std::string& reason_;
};

}  // namespace

std::optional<FolderRules> parse_rules(std::string_view text, std::string& reason) {
  FolderRules rules;
  reason.clear();
  if (text.empty()) return rules;  // libyaml ends the program where there is no memory of a text
  if (reason = excess_of(text); !reason.empty()) return std::nullopt;
  Parser parser(text);
  Document document, next;
  reason = parser ? document.load(*parser) : "there is no memory";
  if (!reason.empty()) return std::nullopt;
  if (!document.root()) return rules;  // nothing but comments
  if (!Reader(document, reason).read(*document.root(), rules)) return std::nullopt;
  reason = next.load(*parser);
  if (reason.empty() && next.root()) reason = "there must be one document, without '---' inside";
  if (!reason.empty()) return std::nullopt;
  return rules;
}

}  // namespace cudaxcorr
