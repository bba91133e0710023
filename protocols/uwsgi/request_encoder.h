// The uwsgi protocol, outgoing (uwsgi-docs "The uwsgi Protocol"; ADAPTERS U1): a four byte header and a block of
// variables, the body follows raw. Called on a worker's thread; appends to a Sink and keeps nothing. The answer is an
// HTTP/1 or CGI head (protocols/cgi) and a body up to the end of the stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocols/cgi/variables.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/sink.h"

namespace pontage::uwsgi {

inline constexpr std::size_t kHeader = 4;
inline constexpr std::size_t kMostBlock = 65535;  // the size is a 16 bit number

// The whole request is too large for the block, or for what the server takes: 431 (U1).
struct TooLarge {
  std::size_t size = 0;  // bytes of the block
};

// Bytes of the block of variables.
std::size_t block_size(const cgi::VariableList& variables) noexcept;

// `most`: bytes of the block that are allowed, at most kMostBlock. Modifiers come from the configuration only: 22 has
// the server run code. After a refusal the sink is as long as before.
wire::Expected<void, TooLarge> encode_request(wire::Sink& sink, const cgi::VariableList& variables, std::size_t most,
                                              std::uint8_t modifier1 = 0, std::uint8_t modifier2 = 0);

}  // namespace pontage::uwsgi
