// The netstring of an SCGI request (ADAPTERS S1).
#include "protocols/scgi/request_encoder.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::scgi {
namespace {

using namespace std::string_literals;

std::string encode(const cgi::VariableList& list) {
  std::string bytes(request_room(list), '\0');
  wire::Sink sink(bytes);
  encode_request(sink, list);
  EXPECT_FALSE(sink.overflowed());
  bytes.resize(sink.size());
  return bytes;
}

TEST(ScgiRequest, IsTheExampleOfTheSpecification) {
  message::Arena arena;
  cgi::VariableList list(arena);
  list.add("CONTENT_LENGTH", "27");
  list.add("REQUEST_METHOD", "POST");
  list.add("REQUEST_URI", "/deepthought");
  EXPECT_EQ(encode(list),
            "70:CONTENT_LENGTH\0"
            "27\0SCGI\0"
            "1\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,"s);
}

TEST(ScgiRequest, CountsLargeBlocksRight) {
  message::Arena arena;
  cgi::VariableList list(arena);
  list.add("CONTENT_LENGTH", "0");
  list.add("X", arena.copy(std::string(100'000, 'x')));
  const auto bytes = encode(list);
  const std::size_t colon = bytes.find(':');
  EXPECT_EQ(std::stoul(bytes.substr(0, colon)), bytes.size() - colon - 2);
  EXPECT_EQ(bytes.back(), ',');
}

}  // namespace
}  // namespace pontage::scgi
