// PROXY headers, both directions: what the specification says byte for byte, and what must not be believed.
#include <string>

#include <gtest/gtest.h>

#include "protocols/proxy_protocol/decoder.h"
#include "protocols/proxy_protocol/encoder.h"
#include "protocols/proxy_protocol/ip_text.h"
#include "protocols/proxy_protocol/read.h"

namespace pontage::proxy_protocol {
namespace {

using namespace std::string_literals;
using wire::DecodeError;

std::string encoded(const Header& header) {
  std::string bytes(room(header), '\0');
  wire::Sink sink(bytes);
  encode(sink, header);
  EXPECT_FALSE(sink.overflowed());
  bytes.resize(sink.size());
  return bytes;
}

std::string v2(char command, char family, const std::string& rest) {
  std::string head(kSignatureV2);
  head += command;
  head += family;
  head += static_cast<char>(rest.size() >> 8);
  head += static_cast<char>(rest.size() & 0xff);
  return head + rest;
}

std::string field(int type, const std::string& value) {
  return std::string{static_cast<char>(type), static_cast<char>(value.size() >> 8),
                     static_cast<char>(value.size() & 0xff)} +
         value;
}

const std::string kAddresses = "\x0a\1\2\3\x0a\0\0\1\x12\x34\x01\xbb"s;

std::optional<DecodeError> refusal(const std::string& bytes) {
  Decoder decoder;
  const auto step = decoder.decode(bytes);
  if (!step) return step.error();
  EXPECT_TRUE(step->complete) << bytes;
  return {};
}

TEST(ProxyHeaderV1, TellsBothEnds) {
  Decoder decoder;
  const auto step = decoder.decode("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\nGET");
  ASSERT_TRUE(step && step->complete);
  EXPECT_EQ(step->consumed, 45u);
  EXPECT_EQ(decoder.header().version, Version::v1);
  EXPECT_EQ(decoder.header().family, Family::ipv4);
  EXPECT_EQ(decoder.header().source.ip[3], 7);
  EXPECT_EQ(decoder.header().source.port, 56324);
  EXPECT_EQ(decoder.header().destination.ip[0], 198);
  EXPECT_EQ(decoder.header().destination.port, 443);
}

TEST(ProxyHeaderV1, SaysNothingWithUnknown) {
  for (const auto* line : {"PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 whatever 1\r\n"}) {
    Decoder decoder;
    ASSERT_TRUE(decoder.decode(line)) << line;
    EXPECT_EQ(decoder.header().family, Family::unspecified);
  }
}

TEST(ProxyHeaderV1, IsTakenByTheLetterOnly) {
  for (const auto* line :
       {"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", "PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 -2\r\n", "PROXY TCP4 1.2.3.04 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3 5.6.7.8 1 2\r\n", "PROXY TCP4 ::1 ::2 1 2\r\n", "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP6 ::1 ::2%eth0 1 2\r\n", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY UNKNOWNX\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 \r\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\r\n"}) {
    EXPECT_EQ(refusal(line), DecodeError::malformed_header) << line;
  }
  EXPECT_EQ(refusal("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n"), std::nullopt);
  EXPECT_EQ(refusal("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n"), DecodeError::header_too_long);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n"), DecodeError::bad_magic);
  EXPECT_EQ(refusal("proxy TCP4"), DecodeError::bad_magic);
}

TEST(ProxyHeaderV2, TellsBothEndsAndTheRest) {
  const std::string tls =
      "\1\0\0\0\0"s + field(0x21, "TLSv1.3") + field(0x22, "someone") + field(0x23, "AES") + field(0x25, "RSA2048");
  const std::string id(kLongestUniqueId, 'i');
  const auto bytes = v2('\x21', '\x11',
                        kAddresses + field(1, "h2") + field(2, "www.example.org") + field(4, "\0\0"s) + field(5, id) +
                            field(0x20, tls) + field(0x30, "netns") + field(0xee, "own"));
  Decoder decoder;
  const auto step = decoder.decode(bytes + "GET /");
  ASSERT_TRUE(step && step->complete);
  EXPECT_EQ(step->consumed, bytes.size());
  const Header& header = decoder.header();
  EXPECT_EQ(header.family, Family::ipv4);
  EXPECT_EQ(header.source.ip[1], 1);
  EXPECT_EQ(header.source.port, 0x1234);
  EXPECT_EQ(header.destination.port, 443);
  EXPECT_EQ(header.alpn, "h2");
  EXPECT_EQ(header.authority, "www.example.org");
  EXPECT_EQ(header.unique_id, id);
  ASSERT_TRUE(header.tls);
  EXPECT_EQ(header.tls->client, kClientTls);
  EXPECT_EQ(header.tls->verify, 0u);
  EXPECT_EQ(header.tls->version, "TLSv1.3");
  EXPECT_EQ(header.tls->common_name, "someone");
  EXPECT_EQ(header.tls->cipher, "AES");
}

TEST(ProxyHeaderV2, IgnoresAllThatComesWithLocal) {
  Decoder decoder;
  const auto bytes = v2('\x20', '\x7f', "anything at all");
  const auto step = decoder.decode(bytes + "more");
  ASSERT_TRUE(step && step->complete);
  EXPECT_EQ(step->consumed, bytes.size());
  EXPECT_EQ(decoder.header().command, Command::local);
  EXPECT_EQ(decoder.header().family, Family::unspecified);
}

TEST(ProxyHeaderV2, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal(v2('\x11', '\x11', kAddresses)), DecodeError::unsupported_version);
  EXPECT_EQ(refusal(v2('\x22', '\x11', kAddresses)), DecodeError::unknown_code);
  EXPECT_EQ(refusal(v2('\x21', '\x12', kAddresses)), DecodeError::unknown_code);
  EXPECT_EQ(refusal(v2('\x21', '\x41', kAddresses)), DecodeError::unknown_code);
  EXPECT_EQ(refusal(v2('\x21', '\x11', kAddresses.substr(1))), DecodeError::bad_length);
  EXPECT_EQ(refusal(v2('\x21', '\x21', kAddresses)), DecodeError::bad_length);
  EXPECT_EQ(refusal(v2('\x21', '\x31', std::string(215, '\0'))), DecodeError::bad_length);
  for (const auto& tail : {"\1"s, "\1\0"s, "\1\0\1"s, field(5, std::string(129, 'i')), field(3, "abc"),
                           field(0x20, "\1\0\0\0"s), field(0x20, "\1\0\0\0\0\x21\0\2x"s)}) {
    EXPECT_EQ(refusal(v2('\x21', '\x11', kAddresses + tail)), DecodeError::bad_length) << tail;
  }
  const std::string most(kLargestV2 - kFixedV2 - kAddresses.size() - 3, 'x');
  EXPECT_EQ(refusal(v2('\x21', '\x11', kAddresses + field(0xee, most))), std::nullopt);
  // Refused by its length, before a byte of it has come.
  const auto large = v2('\x21', '\x11', kAddresses + field(0xee, most + "x"));
  EXPECT_EQ(refusal(large.substr(0, kFixedV2)), DecodeError::packet_too_long);
}

TEST(ProxyHeaderV2, ChecksTheChecksum) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // RFC 3720's check value
  for (const bool first : {true, false}) {
    const auto make = [&](const std::string& crc) {
      const auto rest = field(2, "a.example");
      return v2('\x21', '\x11', kAddresses + (first ? field(3, crc) + rest : rest + field(3, crc)));
    };
    const std::uint32_t crc = crc32c(make("\0\0\0\0"s));
    std::string sum;
    for (const int shift : {24, 16, 8, 0}) sum += static_cast<char>(crc >> shift);
    const auto good = make(sum);
    EXPECT_EQ(refusal(good), std::nullopt);
    for (std::size_t i = kFixedV2; i < kFixedV2 + kAddresses.size(); ++i) {
      auto damaged = good;
      damaged[i] ^= 4;
      EXPECT_EQ(refusal(damaged), DecodeError::malformed_header);
    }
  }
}

TEST(ProxyHeader, StaysFailedAndTakesNothingBehindItsEnd) {
  Decoder failed;
  EXPECT_FALSE(failed.decode("X"));
  const auto again = failed.decode("PROXY UNKNOWN\r\n");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error(), DecodeError::bad_magic);
  Decoder done;
  ASSERT_TRUE(done.decode("PROXY UNKNOWN\r\n"));
  const auto more = done.decode("PROXY");
  ASSERT_TRUE(more);
  EXPECT_EQ(more->consumed, 0u);
  EXPECT_TRUE(more->complete);
}

TEST(ProxyHeader, IsWrittenAsTheSpecificationHasIt) {
  Header header;
  header.version = Version::v1;
  header.family = Family::ipv4;
  header.source = {.ip = *parse_ipv4("192.0.2.7"), .port = 56324};
  header.destination = {.ip = *parse_ipv4("198.51.100.1"), .port = 443};
  EXPECT_EQ(encoded(header), "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n");
  header.version = Version::v2;
  EXPECT_EQ(encoded(header), v2('\x21', '\x11', "\xc0\0\2\7\xc6\x33\x64\1\xdc\4\1\xbb"s));
  header.unique_id = "id";
  header.authority = "a.example";
  header.tls = Tls{.client = kClientTls, .verify = 1, .version = "TLSv1.3", .cipher = "AES"};
  EXPECT_EQ(encoded(header), v2('\x21', '\x11',
                                "\xc0\0\2\7\xc6\x33\x64\1\xdc\4\1\xbb"s + field(2, "a.example") + field(5, "id") +
                                    field(0x20, "\1\0\0\0\1"s + field(0x21, "TLSv1.3") + field(0x23, "AES"))));
  header.command = Command::local;
  EXPECT_EQ(encoded(header), v2('\x20', '\0', ""));
  header.version = Version::v1;
  EXPECT_EQ(encoded(header), "PROXY UNKNOWN\r\n");
}

TEST(ProxyHeader, OfUnixSocketsKeepsThePaths) {
  Header header;
  header.family = Family::unix_path;
  header.source.path = "/run/client.sock";
  header.destination.path = std::string_view("\0abstract", 9);
  Decoder decoder;
  ASSERT_TRUE(decoder.decode(encoded(header)));
  EXPECT_EQ(decoder.header().source.path, "/run/client.sock");
  EXPECT_EQ(decoder.header().destination.path, header.destination.path);
  header.version = Version::v1;
  EXPECT_EQ(encoded(header), "PROXY UNKNOWN\r\n");
}

TEST(ProxyHeader, LongestLineFits) {
  Header header;
  header.version = Version::v1;
  header.family = Family::ipv6;
  const Ip longest = *parse_ipv6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  header.source = {.ip = longest, .port = 65535};
  header.destination = {.ip = longest, .port = 65535};
  EXPECT_EQ(encoded(header).size(), 104u);
  Decoder decoder;
  ASSERT_TRUE(decoder.decode(encoded(header)));
  EXPECT_EQ(decoder.header().source.ip, longest);
}

TEST(IpText, ReadsWhatItWrites) {
  const auto again = [](std::string_view text) -> std::string {
    const auto ip = parse_ipv6(text);
    if (!ip) return "refused";
    char room[64];
    wire::Sink sink(room);
    append_ipv6(sink, *ip);
    return std::string(sink.view());
  };
  EXPECT_EQ(again("::"), "::");
  EXPECT_EQ(again("::1"), "::1");
  EXPECT_EQ(again("1::"), "1::");
  EXPECT_EQ(again("2001:DB8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
  EXPECT_EQ(again("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(again("::ffff:1.2.3.4"), "::ffff:102:304");
  EXPECT_EQ(again("1:2:3:4:5:6:1.2.3.4"), "1:2:3:4:5:6:102:304");
  EXPECT_EQ(again("1:2:3:4:5:6:7::"), "1:2:3:4:5:6:7:0");
  EXPECT_EQ(again("0:0:1:0:0:0:1:1"), "0:0:1::1:1");
  for (const auto* text : {"", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::", "::1::", "12345::", "g::", "1:", ":1", "1.2.3.4::", "::1.2.3",
                           "1:2:3:4:5:6:7:1.2.3.4", "::1:2:3:4:5:6:1.2.3.4x", "fe80::1%lo", "[::1]", " ::1"}) {
    EXPECT_EQ(again(text), "refused") << text;
  }
  for (const auto* text : {"", "1.2.3", "1.2.3.4.5", "1..2.3", "256.1.1.1", "1.2.3.04", "1.2.3.-4", "1.2.3.4 "}) {
    EXPECT_FALSE(parse_ipv4(text)) << text;
  }
}

}  // namespace
}  // namespace pontage::proxy_protocol
