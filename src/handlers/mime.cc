#include "src/handlers/mime.h"

#include <array>
#include <fstream>

#include "protocols/wire/ascii.h"

namespace pontage::handlers {
namespace {

struct Known {
  std::string_view extension;
  std::string_view type;
};
constexpr std::array kKnown = std::to_array<Known>({
    {"html", "text/html"},
    {"htm", "text/html"},
    {"xhtml", "application/xhtml+xml"},
    {"css", "text/css"},
    {"js", "text/javascript"},
    {"mjs", "text/javascript"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"map", "application/json"},
    {"webmanifest", "application/manifest+json"},
    {"xml", "text/xml"},
    {"rss", "application/rss+xml"},
    {"atom", "application/atom+xml"},
    {"txt", "text/plain"},
    {"md", "text/markdown"},
    {"csv", "text/csv"},
    {"ics", "text/calendar"},
    {"vtt", "text/vtt"},
    {"svg", "image/svg+xml"},
    {"svgz", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"ico", "image/x-icon"},
    {"bmp", "image/bmp"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"otf", "font/otf"},
    {"eot", "application/vnd.ms-fontobject"},
    {"mp3", "audio/mpeg"},
    {"m4a", "audio/mp4"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/ogg"},
    {"wav", "audio/wav"},
    {"flac", "audio/flac"},
    {"mp4", "video/mp4"},
    {"m4v", "video/mp4"},
    {"webm", "video/webm"},
    {"ogv", "video/ogg"},
    {"mov", "video/quicktime"},
    {"avi", "video/x-msvideo"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"pdf", "application/pdf"},
    {"wasm", "application/wasm"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
    {"tgz", "application/gzip"},
    {"bz2", "application/x-bzip2"},
    {"xz", "application/x-xz"},
    {"zst", "application/zstd"},
    {"tar", "application/x-tar"},
    {"7z", "application/x-7z-compressed"},
    {"jar", "application/java-archive"},
    {"war", "application/java-archive"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"epub", "application/epub+zip"},
    {"rtf", "application/rtf"},
    {"bin", "application/octet-stream"},
    {"exe", "application/octet-stream"},
    {"iso", "application/octet-stream"},
    {"deb", "application/vnd.debian.binary-package"},
});

constexpr std::size_t kMaxExtension = 32;
constexpr std::size_t kMaxType = 96;
constexpr std::size_t kMaxLines = 20'000;
constexpr std::size_t kMaxLine = 4096;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = wire::to_lower(c);
  return out;
}

bool is_media_type(std::string_view type) {
  const std::size_t slash = type.find('/');
  return slash != std::string_view::npos && type.size() <= kMaxType && wire::is_token(type.substr(0, slash)) &&
         wire::is_token(type.substr(slash + 1));
}

// Takes the next word of a line.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r;";
  const std::size_t start = line.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return line = {};
  const std::size_t end = line.find_first_of(kBlank, start);
  const std::string_view word = line.substr(start, end == std::string_view::npos ? end : end - start);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end);
  return word;
}

}  // namespace

MimeTypes::MimeTypes(const std::string& file, std::string_view charset, const std::map<std::string, std::string>& first)
    : charset_(charset) {
  for (const auto& [extension, type] : first) {
    const bool bare = type.find(';') == std::string::npos;
    if (bare) {
      add(extension, type);
    } else {
      types_.emplace(extension, type);
    }
  }
  for (const Known& known : kKnown) add(known.extension, known.type);
  std::ifstream lines(file);
  std::string line;
  for (std::size_t i = 0; i < kMaxLines && std::getline(lines, line); ++i) {
    if (line.size() <= kMaxLine) add_line(line);
  }
}

void MimeTypes::add(std::string_view extension, std::string_view type) {
  std::string text(type);
  if (type.starts_with("text/") && !charset_.empty()) text += "; charset=" + charset_;
  types_.emplace(lower(extension), std::move(text));
}

const MimeTypes& MimeTypes::system() {
  static const MimeTypes kTable(kSystemFile);
  return kTable;
}

// "text/html  html htm", the format of /etc/mime.types; what the table has already stays.
void MimeTypes::add_line(std::string_view line) {
  const std::string_view type = next_word(line);
  if (type.starts_with('#') || !is_media_type(type)) return;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (word.starts_with('#')) return;
    if (word.size() <= kMaxExtension) add(word, type);
  }
}

std::string_view MimeTypes::find(std::string_view path) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot - 1 > kMaxExtension) return {};
  const auto found = types_.find(lower(name.substr(dot + 1)));
  return found == types_.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace pontage::handlers
