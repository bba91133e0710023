// Bytes of a head that come in pieces, gathered up to a size that the caller has checked. A member of the server-side
// decoders of FastCGI, SCGI and uwsgi; one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace pontage::cgi {

class Gathered {
 public:
  // Moves bytes from the front of `rest` until there are `want` in all. True when they are there.
  bool take(std::string_view& rest, std::size_t want) {
    const auto n = std::min(want - text_.size(), rest.size());
    text_.append(rest.substr(0, n));
    rest.remove_prefix(n);
    return text_.size() == want;
  }
  std::string_view text() const noexcept { return text_; }
  std::size_t size() const noexcept { return text_.size(); }
  // Gives back the memory of a large head.
  void clear() noexcept {
    constexpr std::size_t kKept = 16 * 1024;
    if (text_.capacity() > kKept) text_ = std::string();
    text_.clear();
  }

 private:
  std::string text_;
};

}  // namespace pontage::cgi
