// Reads the payload of FORWARD_REQUEST into a request head and its attributes (ADAPTERS A4-A8). Used by RequestDecoder.
// Pure.
#pragma once

#include <optional>
#include <string_view>

#include "protocols/ajp13/attributes.h"
#include "protocols/message/arena.h"
#include "protocols/message/head.h"
#include "protocols/wire/decode_error.h"
#include "protocols/wire/limits.h"

namespace pontage::ajp13 {

// `payload` starts with the packet's type. It is copied into `arena` once; the texts of both results are views of that
// copy. On an error `head` and `attributes` are unspecified.
std::optional<wire::DecodeError> read_forward_request(std::string_view payload, const wire::HeadLimits& limits,
                                                      message::Arena& arena, message::RequestHead& head,
                                                      Attributes& attributes);

}  // namespace pontage::ajp13
