// The canonical path of target.h, made in one walk over the segments.
#include <cstddef>
#include <string_view>

#include "protocols/message/target.h"
#include "protocols/wire/ascii.h"

namespace pontage::message {
namespace {

using wire::DecodeError;

constexpr bool is_unreserved(char c) noexcept {
  return wire::is_alpha(c) || wire::is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

constexpr char hex_digit(int value) noexcept {
  return "0123456789ABCDEF"[value];
}

// True when the path is canonical already, so that nothing needs copying: no escape, parameter or backslash, and no
// segment that is empty (but the last) or starts with a dot.
bool is_plain(std::string_view path) noexcept {
  char before = 0;
  for (const char c : path) {
    if (c == '%' || c == ';' || c == '\\') return false;
    if (before == '/' && (c == '/' || c == '.')) return false;
    before = c;
  }
  return true;
}

class Canonicaliser {
 public:
  Canonicaliser(char* out, Slashes slashes) noexcept : out_(out), slashes_(slashes) {}

  // False for a malformed escape. `segment` is what stands between two slashes.
  bool add(std::string_view segment, bool last) noexcept {
    const std::size_t start = size_;
    out_[size_++] = '/';
    if (!copy(segment)) return false;
    const std::string_view text(out_ + start + 1, size_ - start - 1);
    const auto name = text.substr(0, text.find(';'));
    if (name == "." || name == "..") {
      size_ = start;
      if (name.size() == 2) drop_last();
      if (last) out_[size_++] = '/';
    } else if (text.empty() && !last && slashes_ == Slashes::merge) {
      size_ = start;
    }
    return true;
  }

  std::string_view view() const noexcept { return {out_, size_}; }
  const PathMarks& marks() const noexcept { return marks_; }
  bool has_parameters() const noexcept { return has_parameters_; }

 private:
  bool copy(std::string_view segment) noexcept {
    for (std::size_t i = 0; i < segment.size(); ++i) {
      const char c = segment[i];
      if (c != '%') {
        marks_.backslash |= c == '\\';
        has_parameters_ |= c == ';';
        out_[size_++] = c;
        continue;
      }
      if (i + 2 >= segment.size()) return false;
      const int high = wire::hex_value(segment[i + 1]);
      const int low = wire::hex_value(segment[i + 2]);
      if (high < 0 || low < 0) return false;
      escape(high, low);
      i += 2;
    }
    return true;
  }

  void escape(int high, int low) noexcept {
    const char decoded = static_cast<char>(high << 4 | low);
    if (is_unreserved(decoded)) {
      out_[size_++] = decoded;
      return;
    }
    marks_.encoded_slash |= decoded == '/';
    marks_.backslash |= decoded == '\\';
    marks_.nul |= decoded == '\0';
    out_[size_++] = '%';
    out_[size_++] = hex_digit(high);
    out_[size_++] = hex_digit(low);
  }

  void drop_last() noexcept {
    while (size_ > 0 && out_[size_ - 1] != '/') --size_;
    if (size_ > 0) --size_;
  }

  char* out_;
  std::size_t size_ = 0;
  Slashes slashes_;
  PathMarks marks_;
  bool has_parameters_ = false;
};

// Calls `each(segment, last)` for what stands after every '/', until it returns false. `path` starts with '/'.
template <class F>
bool for_each_segment(std::string_view path, F&& each) {
  std::size_t at = 1;
  for (;;) {
    const auto slash = path.find('/', at);
    const bool last = slash == std::string_view::npos;
    if (!each(path.substr(at, last ? slash : slash - at), last)) return false;
    if (last) return true;
    at = slash + 1;
  }
}

// A segment that was nothing but parameters is merged away like an empty one, as a servlet container does.
std::string_view without_parameters(std::string_view path, Slashes slashes, Arena& arena) {
  char* const out = arena.chars(path.size()).data();
  std::size_t size = 0;
  for_each_segment(path, [&](std::string_view segment, bool last) {
    const auto name = segment.substr(0, segment.find(';'));
    if (name.empty() && !last && slashes == Slashes::merge) return true;
    out[size++] = '/';
    for (const char c : name) out[size++] = c;
    return true;
  });
  return {out, size};
}

}  // namespace

wire::Expected<CanonicalPath, DecodeError> canonical_path(std::string_view raw_path, Slashes slashes, Arena& arena) {
  if (raw_path == "*") return CanonicalPath{raw_path, raw_path, {}};
  if (raw_path.empty() || raw_path[0] != '/') return wire::Unexpected(DecodeError::malformed_target);
  if (is_plain(raw_path)) return CanonicalPath{raw_path, raw_path, {}};

  // One byte more: a dot segment at the end leaves a slash of its own.
  Canonicaliser path(arena.chars(raw_path.size() + 1).data(), slashes);
  const bool good =
      for_each_segment(raw_path, [&](std::string_view segment, bool last) { return path.add(segment, last); });
  if (!good) return wire::Unexpected(DecodeError::malformed_target);
  CanonicalPath out{path.view(), path.view(), path.marks()};
  if (path.has_parameters()) out.match = without_parameters(out.path, slashes, arena);
  return out;
}

std::string_view percent_decode(std::string_view text, Arena& arena) {
  if (text.find('%') == std::string_view::npos) return arena.copy(text);
  const auto out = arena.chars(text.size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out[size] = text[i];
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = wire::hex_value(text[i + 1]);
      const int low = wire::hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out[size] = static_cast<char>(high << 4 | low);
        i += 2;
      }
    }
    ++size;
  }
  return {out.data(), size};
}

}  // namespace pontage::message
