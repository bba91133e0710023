// The uwsgi protocol, incoming (uwsgi-docs "The uwsgi Protocol"; ADAPTERS U1), as an application server reads it: for
// the reference origin (`pontage origin`) and for tests. Its errors: unknown_code (a modifier other than 0),
// bad_length (an empty block, or a string longer than it), bad_string (a name without a value, or what
// cgi::take_variable refuses).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "protocols/cgi/block_decoder.h"

namespace pontage::uwsgi {

class Format {
 public:
  cgi::BlockSize size(std::string_view& rest) noexcept;
  static std::optional<wire::DecodeError> read(std::string_view block, const wire::HeadLimits& limits,
                                               cgi::VariableList& list);

 private:
  std::array<unsigned char, 4> header_{};
  std::size_t held_ = 0;
};

using RequestDecoder = cgi::BlockDecoder<Format>;

}  // namespace pontage::uwsgi
