#include <algorithm>
#include <memory>

#include "protocols/proxy_protocol/decoder.h"
#include "tests/contract/decoder/decoder_contract.h"

namespace pontage::contract {
namespace {

using namespace std::string_literals;
using proxy_protocol::Decoder;

std::string ip(const proxy_protocol::Endpoint& end) {
  std::string out;
  for (const auto byte : end.ip) out += std::to_string(byte) + ".";
  return out + std::to_string(end.port) + std::string(end.path);
}

// What the header says and what came behind it; each piece lies in memory of its own.
std::string read_header(const std::vector<std::string_view>& pieces) {
  Decoder decoder;
  std::string behind;
  bool complete = false;
  for (const auto piece : pieces) {
    const auto memory = std::make_unique<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), memory.get());
    const std::string_view input(memory.get(), piece.size());
    const auto step = decoder.decode(input);
    if (!step) {
      const auto again = decoder.decode("x");
      const bool kept = !again && again.error() == step.error();
      return (kept ? "error: " : "forgot error: ") + std::string(to_string(step.error()));
    }
    if (!step->complete && step->consumed != input.size()) return "left bytes";
    complete = step->complete;
    behind += input.substr(step->consumed);
  }
  if (!complete) return "";
  const auto& h = decoder.header();
  std::string out = std::to_string(static_cast<int>(h.version)) + std::to_string(static_cast<int>(h.command)) +
                    std::to_string(static_cast<int>(h.family)) + ip(h.source) + "|" + ip(h.destination);
  for (const auto text : {h.alpn, h.authority, h.unique_id}) out.append("|").append(text);
  if (h.tls) {
    out += "|" + std::to_string(h.tls->client) + "|" + std::to_string(h.tls->verify);
    for (const auto text : {h.tls->version, h.tls->common_name, h.tls->cipher}) out.append("|").append(text);
  }
  return out + "|end|" + behind;
}

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;
const std::string kIpv4 = "\x0a\1\2\3\x0a\0\0\1\x12\x34\x01\xbb"s;

std::string v2(const std::string& codes, const std::string& rest) {
  return kSignature + codes + static_cast<char>(rest.size() >> 8) + static_cast<char>(rest.size() & 0xff) + rest;
}

}  // namespace

std::vector<Subject> proxy_protocol_subjects() {
  Subject s{"ProxyHeaders", read_header, {}, {}, {}, {}};
  const auto host =
      "\2\0\x09"
      "a.example"s;
  s.complete = {
      "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n",
      "PROXY TCP6 2001:db8::1 ::1 1 65535\r\n",
      "PROXY UNKNOWN\r\n",
      "PROXY UNKNOWN whatever that may mean\r\n",
      v2("\x20\0"s, ""),
      v2("\x20\x11"s, "\1"),
      v2("\x21\0"s, ""),
      v2("\x21\x11"s, kIpv4),
      v2("\x21\x11"s, kIpv4 + host + "\x20\0\x0f\1\0\0\0\0\x21\0\7TLSv1.3"s),
      v2("\x21\x21"s, std::string(36, '\1') + "\5\0\2id"s),
      v2("\x21\x31"s, "/run/x" + std::string(210, '\0')),
  };
  s.refused = {
      "GET / HTTP/1.1\r\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\n",
      "PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\n",
      "PROXY TCP4 192.0.2.07 198.51.100.1 56324 443\r\n",
      kSignature.substr(0, 11) + "x",
      v2("\x31\x11"s, kIpv4),
      v2("\x2f\x11"s, kIpv4),
      v2("\x21\x22"s, std::string(36, '\1')),
      v2("\x21\x11"s, kIpv4.substr(1)),
      v2("\x21\x11"s, kIpv4 + "\1\0"s),
      v2("\x21\x11"s, kIpv4 + "\3\0\4\1\2\3\4"s),
  };
  s.over_limit = {"PROXY UNKNOWN " + std::string(100, 'x') + "\r\n", v2("\x21\x11"s, kIpv4 + std::string(4081, '\4'))};
  s.words = {"PROXY ",   "TCP4 ",    "TCP6 ", "UNKNOWN", "1.2.3.4 ", "::1 ", "80",  " ",      "\r\n",
             kSignature, "\x21\x11", kIpv4,   "\0\x0c"s, host,       "\n",   "\0"s, "\x20\0"s};
  return {s};
}

}  // namespace pontage::contract
