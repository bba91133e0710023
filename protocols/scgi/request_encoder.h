// SCGI, outgoing (python.ca/scgi/protocol.txt; ADAPTERS S1): one netstring of variables, the body follows raw. Called
// on a worker's thread; appends to a Sink and keeps nothing. The answer is a CGI response (protocols/cgi) up to the end
// of the stream.
#pragma once

#include <cstddef>

#include "protocols/cgi/variables.h"
#include "protocols/wire/sink.h"

namespace pontage::scgi {

// Bytes that encode_request writes at most.
std::size_t request_room(const cgi::VariableList& variables) noexcept;

// CONTENT_LENGTH first, as make_variables orders it, then SCGI=1, then the rest.
void encode_request(wire::Sink& sink, const cgi::VariableList& variables);

}  // namespace pontage::scgi
