// The application's side of FastCGI, outgoing: STDOUT, STDERR and END_REQUEST, for the reference origin and for tests
// (ADAPTERS F5, F6). Appends to a Sink and keeps nothing. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/fastcgi/codes.h"
#include "protocols/wire/sink.h"

namespace pontage::fastcgi {

// A record with its content, at most 65535 bytes, and its padding.
void encode_record(wire::Sink& sink, RecordType type, std::string_view content, std::uint8_t padding = 0);

void encode_end_request(wire::Sink& sink, std::uint32_t app_status, ProtocolStatus status);

}  // namespace pontage::fastcgi
