#include <algorithm>
#include <memory>

#include "protocols/cgi/response_decoder.h"
#include "protocols/fastcgi/response_decoder.h"
#include "tests/contract/decoder/decoder_contract.h"

namespace pontage::contract {
namespace {

using namespace std::string_literals;

// Calls `feed(piece)` until it says false; each piece lies in memory of exactly its size that is gone after the call.
template <class Feed>
void each_piece(const std::vector<std::string_view>& pieces, Feed&& feed) {
  for (const auto piece : pieces) {
    const auto memory = std::make_unique<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), memory.get());
    if (!feed(std::string_view(memory.get(), piece.size()))) return;
  }
}

std::string describe(const message::ResponseHead& head) {
  std::string out = std::to_string(head.status) + ' ' + std::string(head.reason) + '\n';
  for (const auto& h : head.headers) out.append(h.name).append("=").append(h.value).append("\n");
  return out + std::to_string(static_cast<int>(head.body.kind)) + ' ' + std::to_string(head.body.length) + '\n';
}

// A head, then whatever follows as body.
std::string read_cgi(const std::vector<std::string_view>& pieces) {
  message::Arena arena;
  message::ResponseHead head;
  cgi::ResponseDecoder decoder(kLimits);
  std::string out;
  bool in_body = false;
  each_piece(pieces, [&](std::string_view input) {
    if (!in_body && !input.empty()) {
      const auto step = decoder.decode(input, arena, message::Method::get, head);
      if (!step) {
        const auto again = decoder.decode("Status: 200\n\n", arena, message::Method::get, head);
        if (again || again.error() != step.error()) out += "forgot ";
        out += "error: " + std::string(to_string(step.error()));
        return false;
      }
      input.remove_prefix(step->consumed);
      if (step->event == http1::HeadEvent::need_more) {
        if (!input.empty()) out += "left bytes";
        return input.empty();
      }
      out += describe(head);
      in_body = true;
    }
    out += input;
    return true;
  });
  return out + (decoder.in_progress() ? "unfinished" : "");
}

std::string end(int padding = 0, std::string_view content = {"\0\0\0\x07\0\0\0\0", 8}) {
  return record(3, content, padding);
}

std::string read_fastcgi(const std::vector<std::string_view>& pieces) {
  fastcgi::ResponseDecoder decoder;
  std::string output;
  std::string errors;
  std::string last;
  each_piece(pieces, [&](std::string_view input) {
    while (!input.empty()) {
      const auto step = decoder.decode(input);
      if (!step) {
        const auto again = decoder.decode(end());
        last = again || again.error() != step.error() ? "forgot " : "";
        last += "error: " + std::string(to_string(step.error()));
        return false;
      }
      input.remove_prefix(step->consumed);
      switch (step->event) {
        case fastcgi::ResponseEvent::need_more:
          if (!input.empty()) last = "left bytes";
          break;
        case fastcgi::ResponseEvent::output: output += step->data; break;
        case fastcgi::ResponseEvent::error_text: errors += step->data; break;
        case fastcgi::ResponseEvent::end: last = "end " + std::to_string(step->app_status); break;
      }
      if (last == "left bytes") return false;
    }
    return true;
  });
  if (last.empty()) last = decoder.between_records() ? "between" : "unfinished";
  return output + "|" + errors + "|" + last;
}

Subject cgi_responses() {
  Subject s{"CgiResponses", read_cgi, {}, {}, {}, {}};
  s.complete = {
      "Content-Type: text/html\n\n",
      "Status: 404 Not Found\r\nContent-Type: a/b\n\r\nbody",
      "Location: /x\r\n\r\n",
      "Status: 201\nLocation: http://a/x\nContent-Length: 3\n\nabc",
      "HTTP/1.0 500 Broken\r\nX: y\r\n\r\nbody\n\nmore",
      "Content-Type: a/b\nTransfer-Encoding: chunked\nConnection: keep-alive\nSet-Cookie: a\nSet-Cookie: b\n\n0",
      "Content-Type: \xe9\t z \n\n" + std::string(3000, '\n'),
  };
  s.refused = {
      "\n",
      "\r\n\r\n",
      "<html>\n\n",
      "X: y\n\n",
      "Status: 99\n\n",
      "Status: 100 Continue\n\n",
      "Status: 404: gone\n\n",
      "Status: x\nContent-Type: a/b\n\n",
      "Status: 200\nStatus: 200\n\n",
      "HTTP/1.1 20\n\n",
      "HTTP/3.0 200 OK\n\n",
      "HTTP/1.1 103 Early\n\n",
      "Content-Type: a\n folded\n\n",
      "Content-Type : a\n\n",
      "Content-Type: a\rb\n\n",
      "Content-Type: a\0b\n\n"s,
      "Content-Type: a/b\nContent-Length: 3\nContent-Length: 3\n\n",
      "Content-Type: a/b\nContent-Length: -1\n\n",
      "Content-Type: a/b\nHTTP/1.1 200 OK\n\n",
  };
  s.over_limit = {
      std::string(200, 'x'),
      "X: " + std::string(118, 'x') + "\r\n",
      "A: " + std::string(110, 'x') + "\nB: " + std::string(110, 'x') + "\nC: " + std::string(110, 'x') + "\n",
      "A:\nB:\nC:\nD:\nE:\nF:\nG:\n\n",
  };
  s.words = {"Status: ",
             "200",
             "404",
             " OK",
             "\n",
             "\r\n",
             "\r",
             "X: y\n",
             "HTTP/1.1 ",
             "HTTP/",
             ":",
             " ",
             "Location: /\n",
             "Content-Type: a/b\n",
             "Content-Length: 3\n",
             "abc"};
  return s;
}

Subject fastcgi_responses() {
  Subject s{"FastCgiResponses", read_fastcgi, {}, {}, {}, {}};
  s.complete = {
      end(),
      record(6, "Content-Type: a/b\r\n\r\nx") + record(6, "") + end(),
      record(7, "oops\n", 3) + record(6, "a", 255) + record(6, "b", 7) + record(7, "") + end(8),
      record(6, std::string(300, 'y'), 1) + end(1),
  };
  s.refused = {
      "\x02" + record(6, "a").substr(1),
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      record(1, "12345678"),
      record(10, ""),
      record(11, "12345678"),
      record(6, "a").replace(3, 1, "\x02"),
      record(6, "a").replace(2, 1, "\x01"),
      record(6, "") + record(6, "a"),
      record(3, "1234567"),
      record(3, "123456789"),
      end(0, {"\0\0\0\0\x04\0\0\0", 8}),
      end() + "x",
      end(2) + end(),
  };
  s.words = {record(6, "abc"), record(6, "", 3),  record(7, "de", 1), end(),
             end(5),           "\x01\x06\0\x01"s, "\0\x01"s,          "\x01"};
  return s;
}

}  // namespace

std::vector<Subject> cgi_subjects() {
  return {cgi_responses(), fastcgi_responses()};
}

}  // namespace pontage::contract
