// A hand-written AJP gateway for the origin's tests: packets made and read byte by byte, never by the codecs under
// test. Test code only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/origin/client.h"

namespace pontage::origin::testing {

inline std::string u16(std::size_t v) {
  return {static_cast<char>(v >> 8 & 0xff), static_cast<char>(v & 0xff)};
}
inline std::string text(std::string_view s) {
  return u16(s.size()) + std::string(s) + std::string(1, '\0');
}
inline std::string to_container(const std::string& payload) {
  return "\x12\x34" + u16(payload.size()) + payload;
}
inline std::string body_packet(const std::string& data) {
  return to_container(u16(data.size()) + data);
}
inline const std::string kNoMore{"\x12\x34\0\0", 4};
inline const std::string kPing{"\x12\x34\0\x01\x0a", 5};

using Fields = std::vector<std::pair<std::string, std::string>>;

struct AjpRequest {
  int method = 2;  // GET; 4 is POST
  std::string path = "/";
  std::string query{};
  Fields fields{};
  std::string attributes{};  // encoded
};

inline std::string forward(const AjpRequest& request) {
  std::string payload = "\x02";
  payload += static_cast<char>(request.method);
  payload += text("HTTP/1.1") + text(request.path) + text("192.0.2.7") + text("192.0.2.7") + text("www.example.org");
  payload += u16(443) + std::string(1, '\x01') + u16(request.fields.size());
  for (const auto& [name, value] : request.fields)
    payload += (name == "Content-Length" ? "\xa0\x08" : text(name)) + text(value);
  if (!request.query.empty()) payload += "\x05" + text(request.query);
  return to_container(payload + request.attributes + "\xff");
}

class AjpClient : public Client {
 public:
  using Client::Client;

  // The payload of the next packet; empty at an end or a wrong magic.
  std::string packet() {
    const std::string start = take(4);
    if (start.size() < 4 || start.substr(0, 2) != "AB") return {};
    const auto size =
        static_cast<std::size_t>(static_cast<unsigned char>(start[2])) << 8 | static_cast<unsigned char>(start[3]);
    return take(size);
  }

  struct Answer {
    int status = 0;
    std::string head;  // the payload of SEND_HEADERS
    std::string body;
    std::string events;  // one letter a packet: a(sk) h(ead) b(ody) f(lush) e(nd)
    bool reuse = false;
    bool ended = false;
  };
  // Reads until END_RESPONSE or an end, giving `parts` of a body to those who ask, then "no more".
  Answer answer(std::vector<std::string> parts = {}) {
    Answer got;
    std::size_t next = 0;
    while (!got.ended) {
      const std::string payload = packet();
      if (payload.empty()) break;
      switch (payload[0]) {
        case 3:
          got.events += payload.size() == 4 ? 'f' : 'b';
          got.body += payload.substr(3, payload.size() - 4);
          break;
        case 4:
          got.events += 'h';
          got.head = payload;
          got.status = static_cast<unsigned char>(payload[1]) << 8 | static_cast<unsigned char>(payload[2]);
          break;
        case 5:
          got.events += 'e';
          got.ended = true;
          got.reuse = payload[1] == 1;
          break;
        case 6:
          got.events += 'a';
          send(next < parts.size() ? body_packet(parts[next]) : kNoMore);
          ++next;
          break;
        default: got.events += '?';
      }
    }
    return got;
  }
  Answer get(const std::string& path, const std::string& query = {}) {
    send(forward({.path = path, .query = query}));
    return answer();
  }
};

}  // namespace pontage::origin::testing
