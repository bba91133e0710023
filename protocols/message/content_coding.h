// Content codings (RFC 9110 8.4.1, 12.5.3): their names, and which one a client wants. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocols/message/header.h"

namespace pontage::message {

enum class ContentCoding : std::uint8_t { identity, gzip, br, zstd };
inline constexpr std::size_t kContentCodings = 4;

// "identity", "gzip", "br", "zstd".
std::string_view to_string(ContentCoding coding) noexcept;
// By name, in any case; "x-gzip" is gzip (RFC 9110 8.4.1.3). nullopt: none of ours.
std::optional<ContentCoding> parse_content_coding(std::string_view name) noexcept;

// The coding to answer with: of `offered` (in the server's order of preference, without identity) the one with the
// highest q-value in Accept-Encoding, the first of equals; identity when none is acceptable, when identity is weighted
// higher, or when the request has no such field. Several fields count as one list; "*" stands for every coding not
// named; malformed elements and codings we do not know are ignored. Identity is what is left even when it is refused
// ("identity;q=0"): a body the client may not like is better than a 406 (RFC 9110 15.5.7).
ContentCoding choose_content_coding(const HeaderList& headers, std::span<const ContentCoding> offered) noexcept;

}  // namespace pontage::message
