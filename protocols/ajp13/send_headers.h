// Reads the payload of SEND_HEADERS into a response head (ADAPTERS A7, A22, A24, X8, X9). Used by ResponseDecoder.
// Pure.
#pragma once

#include <optional>
#include <string_view>

#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/limits.h"

namespace pontage::ajp13 {

// `payload` starts with the packet's type. It is copied into `arena` once; the head's texts are views of that copy. On
// an error `head` is unspecified.
std::optional<wire::DecodeError> read_send_headers(std::string_view payload, const wire::HeadLimits& limits,
                                                   message::Arena& arena, message::Method request_method,
                                                   message::ResponseHead& head);

}  // namespace pontage::ajp13
