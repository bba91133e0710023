// The block of a uwsgi request (ADAPTERS U1).
#include "protocols/uwsgi/request_encoder.h"

#include <string>

#include <gtest/gtest.h>

namespace pontage::uwsgi {
namespace {

using namespace std::string_literals;

TEST(UwsgiRequest, IsAHeaderAndPairsWithLittleEndianLengths) {
  message::Arena arena;
  cgi::VariableList list(arena);
  list.add("CONTENT_LENGTH", "0");
  list.add("X", arena.copy(std::string(300, 'x')));
  std::string room(400, '\0');
  wire::Sink sink(room);
  ASSERT_TRUE(encode_request(sink, list, kMostBlock, 5, 6));
  EXPECT_EQ(sink.view(),
            "\x05\x44\x01\x06\x0e\0CONTENT_LENGTH\x01\0"
            "0\x01\0X\x2c\x01"s +
                std::string(300, 'x'));
}

TEST(UwsgiRequest, IsRefusedWhenTheServerWouldNotTakeIt) {
  message::Arena arena;
  cgi::VariableList list(arena);
  list.add("X", arena.copy(std::string(4091, 'x')));
  ASSERT_EQ(block_size(list), 4096U);
  std::string room(70'000, '\0');
  wire::Sink sink(room);
  EXPECT_FALSE(encode_request(sink, list, 4095));
  EXPECT_EQ(sink.size(), 0U);
  EXPECT_TRUE(encode_request(sink, list, 4096));
  list.add("Y", arena.copy(std::string(61435, 'y')));
  const auto refused = encode_request(sink, list, 1'000'000);
  ASSERT_FALSE(refused) << "65536 do not fit into sixteen bits";
  EXPECT_EQ(refused.error().size, 65536U);
}

}  // namespace
}  // namespace pontage::uwsgi
