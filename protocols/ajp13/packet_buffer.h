// The part of a packet that came in an earlier segment. Owned by a decoder: a packet that lies whole in the input is
// looked at in place, only one that is cut is gathered here, and never more of it than was asked for. One thread at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pontage::ajp13 {

class PacketBuffer {
 public:
  // The first `want` bytes of the packet at hand, which are left where they are. nullopt when they have not all come:
  // then `input` has been taken in whole. `want` only grows until drop(). The view lives until the next call.
  std::optional<std::string_view> peek(std::string_view& input, std::size_t want) {
    if (held_.empty() && input.size() >= want) return input.substr(0, want);
    const std::size_t missing = want > held_.size() ? want - held_.size() : 0;
    const std::size_t take = std::min(missing, input.size());
    held_.append(input.substr(0, take));
    input.remove_prefix(take);
    if (held_.size() < want) return std::nullopt;
    return std::string_view(held_).substr(0, want);
  }

  // Done with the `n` bytes that the last peek() showed.
  void drop(std::string_view& input, std::size_t n) noexcept {
    if (held_.empty()) {
      input.remove_prefix(n);
    } else {
      held_.clear();
    }
  }

  bool empty() const noexcept { return held_.empty(); }

  // For the next exchange: keeps room for a default packet, gives back more than that.
  void reset() noexcept {
    held_.clear();
    if (held_.capacity() > kKept) held_.shrink_to_fit();
  }

 private:
  static constexpr std::size_t kKept = 16 * 1024;
  std::string held_;
};

}  // namespace pontage::ajp13
