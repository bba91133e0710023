#include <algorithm>
#include <memory>

#include "protocols/fastcgi/request_decoder.h"
#include "protocols/scgi/request_decoder.h"
#include "protocols/uwsgi/request_decoder.h"
#include "tests/contract/decoder/decoder_contract.h"

namespace pontage::contract {
namespace {

using namespace std::string_literals;

// Variables, body and end of every request in the stream; each piece lies in memory of its own.
template <class Decoder>
std::string read_requests(const std::vector<std::string_view>& pieces) {
  message::Arena arena;
  cgi::VariableList variables(arena);
  Decoder decoder(kLimits);
  std::string out;
  for (const auto piece : pieces) {
    const auto memory = std::make_unique<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), memory.get());
    std::string_view input(memory.get(), piece.size());
    for (bool more = true; more;) {
      const auto step = decoder.decode(input, arena, variables);
      if (!step) {
        const auto again = decoder.decode("x", arena, variables);
        if (again || again.error() != step.error()) out += "forgot ";
        return out + "error: " + std::string(to_string(step.error()));
      }
      input.remove_prefix(step->consumed);
      switch (step->event) {
        case cgi::RequestEvent::need_more:
          if (!input.empty()) return out + "left bytes";
          more = false;
          break;
        case cgi::RequestEvent::head:
          for (const auto& v : variables) out.append(v.name).append("=").append(v.value).append("\n");
          out += "|";
          break;
        case cgi::RequestEvent::body: out += step->data; break;
        case cgi::RequestEvent::end: out += "|end\n"; break;
        case cgi::RequestEvent::aborted: out += "|aborted\n"; break;
      }
    }
  }
  return out;
}

std::string begin(char keep, int padding = 0) {
  return record(1, "\0\1"s + keep + std::string(5, '\0'), padding);
}

std::string pair(std::string_view name, std::string_view value) {
  const auto length = [](std::size_t n) {
    return n < 128 ? std::string(1, static_cast<char>(n))
                   : "\x80\0"s + static_cast<char>(n >> 8) + static_cast<char>(n & 0xff);
  };
  return length(name.size()) + length(value.size()) + std::string(name) + std::string(value);
}

Subject fastcgi_requests() {
  Subject s{"FastCgiRequests", read_requests<fastcgi::RequestDecoder>, {}, {}, {}, {}};
  const auto head = [](std::string_view params) { return begin(0) + record(4, params) + record(4, ""); };
  const auto sized = head(pair("CONTENT_LENGTH", "3"));
  const auto long_pair = pair("A", std::string(200, 'x'));
  s.complete = {
      begin(1) + record(4, "") + record(5, ""),
      sized + record(5, "ab", 7) + record(5, "c") + record(5, "", 255),
      head(pair("A", "") + pair("B", "b")) + record(5, "any") + record(5, ""),
      begin(0, 3) + record(4, long_pair.substr(0, 3)) + record(4, long_pair.substr(3), 1) + record(4, "", 9) +
          record(5, ""),
      begin(1) + record(4, "") + record(5, "") + begin(0) + record(4, "") + record(5, "") + record(2, ""),
      sized + record(2, "", 1),
  };
  s.refused = {
      "\x02" + begin(0).substr(1),
      "GET / HTTP/1.1\r\n\r\n",
      record(1, "\0\2\0\0\0\0\0\0"s),
      record(1, "\0\1\2\0\0\0\0\0"s),
      record(1, "\0\1\0\0\0\0\0"s),
      record(4, ""),
      record(9, ""),
      begin(0).replace(3, 1, "\x02"),
      begin(0) + begin(0),
      begin(0) + record(5, ""),
      head("") + record(4, ""),
      head("\x05"),
      head("\x01\x05"
           "Abc"),
      head("\xff\xff\xff\xff\xff\xff\xff\xff"),
      head(pair("", "x")),
      head(pair("A=", "x")),
      head(pair("A", "x\0"s)),
      head(pair("A", "x") + pair("A", "y")),
      head(pair("CONTENT_LENGTH", "+3")),
      sized + record(5, "abcd"),
      sized + record(5, "ab") + record(5, ""),
      head("") + record(5, "") + begin(0),
      sized + record(2, "x"),
  };
  s.over_limit = {
      begin(0) + record(4, std::string(301, 'x')),
      begin(0) + record(4, std::string(200, 'x')) + record(4, std::string(101, 'x')),
      head(pair("A", "") + pair("B", "") + pair("C", "") + pair("D", "") + pair("E", "") + pair("F", "") +
           pair("G", "")),
  };
  s.words = {begin(0),      begin(1), record(4, pair("A", "b")), record(4, ""), record(5, "abc"), record(5, "", 2),
             record(2, ""), sized};
  return s;
}

std::string netstring(std::string_view content) {
  return std::to_string(content.size()) + ":" + std::string(content) + ",";
}

Subject scgi_requests() {
  Subject s{"ScgiRequests", read_requests<scgi::RequestDecoder>, {}, {}, {}, {}};
  const auto start = [](std::string_view length) {
    return "CONTENT_LENGTH\0"s + std::string(length) + "\0SCGI\0001\0"s;
  };
  s.complete = {
      netstring(start("0")),
      netstring(start("27") + "REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0"s) + "What is the answer to life?",
      netstring(start("1") + "X\0"s + std::string(200, 'x') + '\0') + ",",
  };
  s.refused = {
      ":,",
      "0:,",
      "GET / HTTP/1.1\r\n\r\n",
      "01:x,",
      "1234567890:",
      "-5:",
      netstring("x"),
      netstring("x\0"s),
      netstring("\0\0"s),
      netstring(start("0") + "A\0"s),
      netstring(start("0") + "A=\0x\0"s),
      netstring(start("0") + "A\0x\0A\0y\0"s),
      netstring("SCGI\0001\0CONTENT_LENGTH\0000\0"s),
      netstring("CONTENT_LENGTH\0000\0"s),
      netstring("CONTENT_LENGTH\0000\0SCGI\0002\0"s),
      netstring(start("")),
      netstring(start("x")),
      netstring(start("0")).replace(netstring(start("0")).size() - 1, 1, ";"),
      netstring(start("0")) + "x",
      netstring(start("1")) + "ab",
  };
  s.over_limit = {"301:", "999999999:", netstring(start("0") + "A\0\0B\0\0C\0\0D\0\0E\0\0"s)};
  s.words = {netstring(start("0")), netstring(start("3")), "24:", "CONTENT_LENGTH\0", "SCGI\0001\0"s, "0:", ",", "abc"};
  return s;
}

std::string little(std::size_t n) {
  return {static_cast<char>(n & 0xff), static_cast<char>(n >> 8)};
}
std::string text(std::string_view s) {
  return little(s.size()) + std::string(s);
}
std::string block(const std::string& content) {
  return '\0' + little(content.size()) + '\0' + content;
}

Subject uwsgi_requests() {
  Subject s{"UwsgiRequests", read_requests<uwsgi::RequestDecoder>, {}, {}, {}, {}};
  s.complete = {
      block(text("A") + text("")),
      block(text("CONTENT_LENGTH") + text("") + text("B") + text("b")),
      block(text("CONTENT_LENGTH") + text("3") + text("X") + text(std::string(200, 'x'))) + "abc",
  };
  s.refused = {
      block(""),
      "\x05" + block(text("A") + text("b")).substr(1),
      block(text("A") + text("b")).replace(3, 1, "\x01"),
      block(text("A")),
      block("\1"s),
      block("\2\0A"s),
      block(text("A") + "\xff\xff"),
      block(text("") + text("x")),
      block(text("A=") + text("x")),
      block(text("A") + text("x\0"s)),
      block(text("A") + text("x") + text("A") + text("x")),
      block(text("CONTENT_LENGTH") + text("9999999999999999999")),
      block(text("A") + text("b")) + "x",
  };
  std::string many;
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"}) many += text(name) + text("");
  s.over_limit = {"\0\x2d\x01\0"s, "\0\xff\xff\0"s, block(many)};
  s.words = {block(text("A") + text("b")), block(text("CONTENT_LENGTH") + text("2")), "\0\7\0\0"s, text("A"), "ab"};
  return s;
}

}  // namespace

std::vector<Subject> cgi_request_subjects() {
  return {fastcgi_requests(), scgi_requests(), uwsgi_requests()};
}

}  // namespace pontage::contract
