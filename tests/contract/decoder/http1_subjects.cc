#include <algorithm>
#include <memory>

#include "protocols/http1/decoder.h"
#include "tests/contract/decoder/decoder_contract.h"

namespace pontage::contract {
namespace {

using wire::DecodeError;

// One stream of messages, head and body by turns. Each piece lies in memory of exactly its size that is gone after the
// call, so that a sanitizer sees a read past it and a view kept of it.
template <class HeadDecoder, class Head>
class Reader {
 public:
  std::string read(const std::vector<std::string_view>& pieces) {
    for (const auto piece : pieces) {
      const auto memory = std::make_unique<char[]>(piece.size());
      std::copy(piece.begin(), piece.end(), memory.get());
      if (!feed({memory.get(), piece.size()})) return out_;
    }
    return out_ + (in_body_ || heads_.in_progress() ? "unfinished" : "idle");
  }

 private:
  enum class Next { go_on, wait, stop };

  bool feed(std::string_view input) {
    auto next = Next::go_on;
    // Also without input: a body that has no bytes ends by itself.
    while (next == Next::go_on && (in_body_ || !input.empty())) next = in_body_ ? body(input) : head(input);
    return next != Next::stop;
  }

  Next head(std::string_view& input) {
    const auto step = decode(input);
    if (!step) return refuse(step.error(), decode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    input.remove_prefix(step->consumed);
    if (step->event == http1::HeadEvent::need_more) return input.empty() ? Next::wait : leave_bytes();
    write_head();
    body_.start(head_.body, kLimits, arena_);
    in_body_ = true;
    return Next::go_on;
  }

  Next body(std::string_view& input) {
    const auto step = body_.decode(input);
    if (!step) return refuse(step.error(), body_.decode("0\r\n\r\n"));
    input.remove_prefix(step->consumed);
    switch (step->event) {
      case http1::BodyEvent::need_more: return input.empty() ? Next::wait : leave_bytes();
      case http1::BodyEvent::data: out_ += step->data; return Next::go_on;
      case http1::BodyEvent::end: break;
    }
    write_fields(body_.trailers());
    out_ += "end\n";
    in_body_ = false;
    return Next::go_on;
  }

  Next leave_bytes() {
    out_ += "left bytes";
    return Next::stop;
  }

  auto decode(std::string_view input) {
    if constexpr (requires { head_.status; }) {
      return heads_.decode(input, arena_, message::Method::get, head_);
    } else {
      return heads_.decode(input, arena_, head_);
    }
  }

  template <class Again>
  Next refuse(DecodeError error, const Again& again) {
    if (again || again.error() != error) out_ += "forgot ";
    out_ += "error: " + std::string(to_string(error));
    return Next::stop;
  }

  void write_fields(const message::HeaderList& fields) {
    for (const auto& h : fields) out_.append(h.name).append("=").append(h.value).append("\n");
  }

  void write_head() {
    if constexpr (requires { head_.status; }) {
      out_ += std::to_string(head_.status) + ' ' + std::string(head_.reason);
    } else {
      out_.append(head_.method_text).append(" ").append(head_.target.raw_path).append(" ").append(head_.target.query);
      out_.append(" ").append(head_.authority).append(" ").append(head_.host).append(std::to_string(head_.port));
    }
    out_ += "\n";
    write_fields(head_.headers);
    out_ += std::to_string(static_cast<int>(head_.body.kind)) + ' ' + std::to_string(head_.body.length) +
            (head_.persistence == message::Persistence::close ? " close\n" : " keep\n");
  }

  message::Arena arena_;
  HeadDecoder heads_{kLimits};
  Head head_;
  http1::BodyDecoder body_;
  bool in_body_ = false;
  std::string out_;
};

std::string read_requests(const std::vector<std::string_view>& pieces) {
  return Reader<http1::RequestDecoder, message::RequestHead>().read(pieces);
}
std::string read_responses(const std::vector<std::string_view>& pieces) {
  return Reader<http1::ResponseDecoder, message::ResponseHead>().read(pieces);
}

std::string get(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}
std::string chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

Subject requests() {
  Subject s{"Requests", read_requests, {}, {}, {}, {}};
  s.complete = {
      get(""),
      "\r\n" + get("X:\r\nY: \xe9\t z \r\n"),
      get("Connection: close\r\n") + get("A: b\r\n"),
      "PUT /a%20b?c HTTP/1.1\r\nHost: B.example.:80\r\nContent-Length: 5\r\n\r\nabcde" + get(""),
      "OPTIONS * HTTP/1.0\r\n\r\n",
      "GET http://c/d HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      chunked("5;x=\"y\"\r\nabcde\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nT: 1\r\n\r\n"),
      chunked("0\r\n\r\n") + get(""),
  };
  s.refused = {
      "GET /\r\n\r\n",
      "\r\n\r\nGET / HTTP/1.1\r\n",
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/2.0\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "\x16\x03\x01\x02",
      get("Host: b\r\n"),
      get(" X: 1\r\n"),
      get("X: 1\r\n y\r\n"),
      get("Content-Length : 5\r\n"),
      get("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
      get("X: a\rb\r\n"),
      chunked("1\nZ\r\n0\r\n\r\n"),
      chunked("ffffffffffffffff\r\n"),
      chunked("1\r\nab\r\n"),
      chunked("0\r\nX : y\r\n\r\n"),
  };
  s.over_limit = {
      "GET /" + std::string(200, 'x'),
      "GET /" + std::string(87, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n",
      get("X: " + std::string(118, 'x') + "\r\n"),
      get("X: " + std::string(5000, 'x')),
      get("A: " + std::string(100, 'x') + "\r\nB: " + std::string(100, 'x') + "\r\nC: " + std::string(100, 'x') +
          "\r\n"),
      get("A:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\n"),
      get("A " + std::string(200, 'x')),
      chunked("1;" + std::string(5000, 'x')),
      chunked("0\r\nX: " + std::string(200, 'x')),
      chunked("0\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\nG:\r\n\r\n"),
  };
  s.words = {"GET ",
             "/",
             "?",
             " HTTP/1.1\r\n",
             " HTTP/1.0\r\n",
             "Host: a\r\n",
             "\r\n",
             "\r",
             "\n",
             "X: y\r\n",
             " ",
             ":",
             "GET / HTTP/1.1\r\nHost: a\r\n",
             "Transfer-Encoding: chunked\r\n\r\n",
             "Content-Length: 3\r\n\r\n",
             "0\r\n",
             "3\r\nabc\r\n",
             ";",
             "Connection: close\r\n"};
  return s;
}

Subject responses() {
  Subject s{"Responses", read_responses, {}, {}, {}, {}};
  s.complete = {
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 204\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.0 200 \r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 \xe9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nuntil the end",
  };
  s.refused = {
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "\r\nHTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\n\n",
      "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX-A : 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 204 x\r\nContent-Length: x\r\n\r\n",
  };
  s.over_limit = {
      "HTTP/1.1 200 " + std::string(200, 'x'),
      "HTTP/1.1 200 OK\r\nX: " + std::string(200, 'x'),
      "HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\nG:\r\n\r\n",
  };
  s.words = {"HTTP/1.1 ",
             "200",
             "204",
             "103",
             " OK",
             "\r\n",
             "\r",
             "\n",
             "X: y\r\n",
             " ",
             ":",
             "HTTP/1.1 200 OK\r\n",
             "Transfer-Encoding: chunked\r\n\r\n",
             "Content-Length: 3\r\n\r\n",
             "0\r\n",
             "3\r\nabc\r\n",
             ";"};
  return s;
}

}  // namespace

std::vector<Subject> http1_subjects() {
  return {requests(), responses()};
}

}  // namespace pontage::contract
