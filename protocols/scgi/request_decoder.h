// SCGI, incoming (python.ca/scgi/protocol.txt; ADAPTERS S1), as an application server reads it: for the reference
// origin (`pontage origin`) and for tests. Its errors: bad_length (no netstring, its size with a leading zero or
// without its comma), bad_string (no pairs of strings, or what cgi::take_variable refuses), bad_content_length
// (CONTENT_LENGTH not first, or no number), bad_magic (no SCGI=1).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "protocols/cgi/block_decoder.h"

namespace pontage::scgi {

class Format {
 public:
  cgi::BlockSize size(std::string_view& rest) noexcept;
  static std::optional<wire::DecodeError> read(std::string_view block, const wire::HeadLimits& limits,
                                               cgi::VariableList& list);

 private:
  std::size_t size_ = 0;
  std::size_t digits_ = 0;
};

using RequestDecoder = cgi::BlockDecoder<Format>;

}  // namespace pontage::scgi
