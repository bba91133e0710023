// The gateway's side of FastCGI, outgoing: BEGIN_REQUEST, PARAMS, STDIN, ABORT_REQUEST (ADAPTERS F1-F4). Called by the
// FastCGI adapter on its worker's thread; appends to a Sink and keeps nothing.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "protocols/cgi/variables.h"
#include "protocols/fastcgi/codes.h"
#include "protocols/wire/expected.h"
#include "protocols/wire/sink.h"

namespace pontage::fastcgi {

// A variable that does not fit into one record: PHP reads each record on its own, so a pair never straddles two (F3).
struct TooLarge {
  std::string_view name;
  std::size_t size = 0;  // bytes of name and value
};

// Bytes that encode_request writes at most.
std::size_t request_room(const cgi::VariableList& variables) noexcept;

// BEGIN_REQUEST for a responder, the variables as whole pairs, and the empty PARAMS that ends them. CONTENT_LENGTH "0"
// is left out (E2). After a refusal the sink is as long as before.
wire::Expected<void, TooLarge> encode_request(wire::Sink& sink, const cgi::VariableList& variables, Keep keep);

// The header of a STDIN record with `n` bytes that the caller sends from where they lie. 0 < n <= kMostContent.
std::array<char, kHeader> stdin_header(std::size_t n) noexcept;
// The empty STDIN: always sent, also without a body (F3).
void encode_stdin_end(wire::Sink& sink);
void encode_abort(wire::Sink& sink);

}  // namespace pontage::fastcgi
