// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/template_folder.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "common/utf8.h"
#include "matching/file_contents.h"
#include "matching/template_rules.h"

namespace cudaxcorr {
namespace {

/// Of images that decoders know; all other files may lie in the folder as well.
constexpr std::string_view suffixes[] = {".bmp", ".gif", ".jpeg", ".jpg", ".pbm",  ".pgm",
                                         ".png", ".pnm", ".ppm",  ".tif", ".tiff", ".webp"};

Fault unreadable(const std::string& text, Where where = Where::here()) {
  return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, text, where};
}

bool is_image(const std::string& name) {
  gchar* lower = g_ascii_strdown(name.c_str(), -1);
  const std::string_view text = lower;
  const bool is = name[0] != '.' && std::ranges::any_of(suffixes, [text](std::string_view suffix) {
                    return text.ends_with(suffix);
                  });
  g_free(lower);
  return is;
}

/// The names of images, sorted. Nothing with the reason.
std::optional<std::vector<std::string>> images_in(const std::string& folder, std::string& reason) {
  GError* error = nullptr;
  GDir* opened = g_dir_open(folder.c_str(), 0, &error);
  if (!opened) {
    reason = error->message;
    g_error_free(error);
    return std::nullopt;
  }
  std::vector<std::string> names;
  while (const gchar* name = g_dir_read_name(opened))
    if (is_image(name)) names.emplace_back(name);
  g_dir_close(opened);
  std::ranges::sort(names);
  if (names.size() <= max_folder_images) return names;
  reason = "it has more than 4096 images";
  return std::nullopt;
}

/// What changes when a file does. Empty if there is none.
std::string stamp_of(const std::string& file) {
  struct stat about;
  if (stat(file.c_str(), &about) != 0) return {};
  std::string stamp;
  for (const auto number :
       {static_cast<long long>(about.st_ino), static_cast<long long>(about.st_size),
        static_cast<long long>(about.st_mtim.tv_sec),
        static_cast<long long>(about.st_mtim.tv_nsec)})
    stamp += std::to_string(number) + ' ';
  return stamp;
}

/// Nothing if they cannot be read, with a warning.
std::optional<FolderRules> rules_in(const std::string& folder, std::vector<Fault>& warnings) {
  const std::string file = folder + '/' + rules_file;
  std::string reason;
  if (stamp_of(file).empty() && errno == ENOENT) return FolderRules();
  const Contents contents = read_file(file, reason);
  std::optional<FolderRules> rules;
  if (contents && view(contents).size() > max_rules_bytes)
    reason = "the file is larger than 512 KiB";
  else if (contents)
    rules = parse_rules(view(contents), reason);
  if (!rules)
    warnings.push_back(unreadable("Cannot read the settings of templates '" + valid_utf8(file) +
                                  "', so those before stay: " + valid_utf8(reason)));
  return rules;
}

std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

SharedImage with_rules(const SharedImage& image, const TemplateRules& rules,
                       const std::string& stem) {
  const std::string label = valid_utf8(rules.label.empty() ? stem : rules.label);
  if (image->rules == rules && image->label == label) return image;
  auto changed = std::make_shared<LoadedImage>(*image);
  changed->rules = rules;
  changed->label = label;
  changed->is_labelled = !rules.label.empty() || label == stem;
  return changed;
}

void warn_of_names_without_image(const std::string& folder, const FolderRules& rules,
                                 const std::vector<std::string>& names,
                                 std::vector<Fault>& warnings) {
  for (const auto& [name, of_template] : rules)
    if (std::ranges::find(names, name, stem_of) == names.end())
      warnings.push_back({GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                          "The settings of templates in '" + valid_utf8(folder) +
                              "' are also for '" + valid_utf8(name) +
                              "', of which there is no image"});
}

}  // namespace

bool load_folder(TemplateSet& template_set, const std::string& folder, unsigned max_pixels,
                 guint& last_id, std::vector<Fault>& warnings, Fault& fault) {
  if (folder.empty()) {
    template_set.of_folder.clear();
    template_set.folder.clear();
    return true;
  }
  std::string reason;
  const auto names = images_in(folder, reason);
  if (!names) {
    fault = unreadable("Cannot read the folder of templates '" + valid_utf8(folder) +
                       "': " + valid_utf8(reason));
    return false;
  }
  const auto rules = rules_in(folder, warnings);
  LoadedImages images;
  for (const std::string& name : *names) {
    const std::string file = folder + '/' + name, stem = stem_of(name), stamp = stamp_of(file);
    const auto before = std::ranges::find(template_set.of_folder, file, &LoadedImage::file);
    const bool known = before != template_set.of_folder.end();
    SharedImage image = known ? *before : nullptr;
    if (!known || (*before)->stamp != stamp) {
      Fault bad;
      const guint id = known ? (*before)->id : last_id + 1;
      if (const SharedImage read = load_file(file, stem, max_pixels, id, bad)) {
        auto stamped = std::make_shared<LoadedImage>(*read);
        stamped->stamp = stamp;
        if (known) stamped->rules = (*before)->rules;
        image = std::move(stamped);
        last_id = std::max(last_id, id);
      } else {
        warnings.push_back(bad);
      }
    }
    if (!image) continue;
    if (rules) {
      const auto own = rules->find(stem);
      image = with_rules(image, own == rules->end() ? TemplateRules() : own->second, stem);
    }
    images.push_back(std::move(image));
  }
  if (rules) warn_of_names_without_image(folder, *rules, *names, warnings);
  template_set.of_folder = std::move(images);
  template_set.folder = folder;
  return true;
}

}  // namespace cudaxcorr
