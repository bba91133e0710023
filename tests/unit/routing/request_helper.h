// Requests for matchers: a head whose texts live in an arena of its own.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "protocols/message/head.h"

namespace pontage::routing {

struct Request {
  explicit Request(std::string_view target, std::string_view host = "www.example.org", std::string_view method = "GET",
                   message::Slashes slashes = message::Slashes::merge) {
    head.method = message::parse_method(method);
    head.method_text = method;
    head.host = host;
    head.headers = message::HeaderList(arena);
    const auto parsed = message::parse_target(target, head.method);
    EXPECT_TRUE(parsed) << target;
    if (!parsed) return;
    head.target = *parsed;
    const auto canonical = message::canonical_path(parsed->raw_path, slashes, arena);
    EXPECT_TRUE(canonical) << target;
    if (canonical) path = *canonical;
  }
  Request& field(std::string_view name, std::string_view value) {
    head.headers.add(name, value);
    return *this;
  }

  message::Arena arena;
  message::RequestHead head;
  message::CanonicalPath path;
};

}  // namespace pontage::routing
