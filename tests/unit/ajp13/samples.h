// What the AJP tests share: bytes written by hand (never by the encoders under test), and a decoder driven over pieces
// of input that notes every event as text. Test code only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/ajp13/request_decoder.h"
#include "protocols/ajp13/response_decoder.h"
#include "protocols/wire/ascii.h"
#include "protocols/wire/decode_error.h"

namespace pontage::ajp13::testing {

using namespace std::string_literals;
using namespace std::string_view_literals;

// Packet bytes, one value after another.
class Bytes {
 public:
  Bytes& u8(unsigned v) {
    text_ += static_cast<char>(v);
    return *this;
  }
  Bytes& u16(unsigned v) { return u8(v >> 8 & 0xff).u8(v & 0xff); }
  Bytes& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Bytes& str(std::string_view text) { return u16(static_cast<unsigned>(text.size())).raw(text).u8(0); }
  Bytes& null() { return u16(0xffff); }

  std::string payload() const { return text_; }
  std::string to_container() const { return framed("\x12\x34"sv); }
  std::string to_gateway() const { return framed("AB"sv); }

 private:
  std::string framed(std::string_view magic) const {
    Bytes packet;
    packet.raw(magic).u16(static_cast<unsigned>(text_.size())).raw(text_);
    return packet.text_;
  }
  std::string text_;
};

inline std::string chunk(std::string_view data) {
  return Bytes().u8(3).u16(static_cast<unsigned>(data.size())).raw(data).u8(0).to_gateway();
}
inline std::string end_response(unsigned reuse = 1) {
  return Bytes().u8(5).u8(reuse).to_gateway();
}
inline std::string get_body_chunk(unsigned n) {
  return Bytes().u8(6).u16(n).to_gateway();
}
inline std::string body_packet(std::string_view data) {
  return Bytes().u16(static_cast<unsigned>(data.size())).raw(data).to_container();
}
// SEND_HEADERS with status and no field.
inline std::string bare_head(unsigned status = 200) {
  return Bytes().u8(4).u16(status).str("").u16(0).to_gateway();
}

// What came out of a decoder: events in order, body pieces joined.
struct Seen {
  std::string events;  // e.g. "head body(5) end+"; neighbouring pieces of body count as one
  std::string body;
  std::string head;   // status or method, target, then every field
  std::string error;  // the name of the DecodeError, or empty
  bool done = false;
};

inline void note(Seen& seen, std::string_view event) {
  if (!seen.events.empty()) seen.events += ' ';
  seen.events += event;
}

// Body pieces are counted together, so that the text does not depend on where the input was cut.
class BodyRun {
 public:
  void add(Seen& seen, std::string_view data) {
    seen.body += data;
    bytes_ += data.size();
  }
  void close(Seen& seen) {
    if (bytes_ > 0) note(seen, "body(" + std::to_string(bytes_) + ")");
    bytes_ = 0;
  }

 private:
  std::size_t bytes_ = 0;
};

inline std::string text_of(const message::HeaderList& headers) {
  std::string text;
  for (const auto& field : headers) {
    text += '|';
    text += field.name;
    text += '=';
    text += field.value;
  }
  return text;
}

inline std::string text_of(const message::BodyFraming& body) {
  switch (body.kind) {
    case message::BodyKind::none: return "none";
    case message::BodyKind::exact: return "exact " + std::to_string(body.length);
    case message::BodyKind::chunked: return "chunked";
    case message::BodyKind::until_close: return "until_close";
  }
  return "";
}

inline void note_response(Seen& seen, BodyRun& run, const ResponseStep& step, const message::ResponseHead& head) {
  if (step.event == ResponseEvent::body) return run.add(seen, step.data);
  if (step.event == ResponseEvent::need_more) return;
  run.close(seen);
  switch (step.event) {
    case ResponseEvent::head:
      note(seen, "head");
      seen.head = std::to_string(head.status) + " " + text_of(head.body) + text_of(head.headers);
      break;
    case ResponseEvent::flush: note(seen, "flush"); break;
    case ResponseEvent::get_body_chunk: note(seen, "get(" + std::to_string(step.requested) + ")"); break;
    case ResponseEvent::end: note(seen, step.reuse == Reuse::yes ? "end+" : "end-"); break;
    case ResponseEvent::cpong: note(seen, "cpong"); break;
    case ResponseEvent::need_more:
    case ResponseEvent::body: break;
  }
}

// Feeds `pieces` one after another. The pieces are copied first, so that a sanitizer sees any read behind their end.
inline Seen run_response(ResponseDecoder& decoder, const std::vector<std::string_view>& pieces,
                         message::Method method = message::Method::get) {
  Seen seen;
  BodyRun run;
  message::Arena arena;
  message::ResponseHead head;
  for (const auto piece : pieces) {
    const std::vector<char> copy(piece.begin(), piece.end());
    std::string_view rest(copy.data(), copy.size());
    while (!rest.empty()) {
      const auto step = decoder.decode(rest, arena, method, head);
      if (!step) {
        run.close(seen);
        seen.error = wire::to_string(step.error());
        return seen;
      }
      note_response(seen, run, *step, head);
      rest.remove_prefix(step->consumed);
    }
  }
  run.close(seen);
  seen.done = decoder.done();
  return seen;
}

inline Seen run_response(std::string_view input, message::Method method = message::Method::get,
                         std::size_t packet_size = kMinPacket) {
  ResponseDecoder decoder(packet_size, {});
  return run_response(decoder, {input}, method);
}

inline std::string text_of(const message::RequestHead& head, const Attributes& a) {
  std::string text(head.method_text);
  text += ' ';
  text += head.target_text;
  text += " HTTP/" + std::to_string(head.version.major) + "." + std::to_string(head.version.minor) + " " +
          text_of(head.body) + text_of(head.headers);
  for (const auto part : {a.remote_addr, a.remote_host, a.local_addr, a.server_name, a.route, a.secret, a.activation,
                          a.remote_user, a.auth_type, a.ssl_cert, a.ssl_cipher, a.ssl_session, a.ssl_protocol}) {
    text += '/';
    text += part;
  }
  text += std::to_string(a.remote_port) + "," + std::to_string(a.server_port) + "," + std::to_string(a.ssl_key_size) +
          (a.is_tls ? ",tls" : ",plain") + text_of(a.others);
  return text;
}

// Feeds `pieces` and answers like a container: after each body packet it asks for another one when `asks` is left.
inline Seen run_request(RequestDecoder& decoder, const std::vector<std::string_view>& pieces, int asks = 0) {
  Seen seen;
  BodyRun run;
  message::Arena arena;
  message::RequestHead head;
  Attributes attributes;
  for (const auto piece : pieces) {
    const std::vector<char> copy(piece.begin(), piece.end());
    std::string_view rest(copy.data(), copy.size());
    while (!rest.empty()) {
      const auto step = decoder.decode(rest, arena, head, attributes);
      if (!step) {
        run.close(seen);
        seen.error = wire::to_string(step.error());
        return seen;
      }
      rest.remove_prefix(step->consumed);
      if (step->event == RequestEvent::body) run.add(seen, step->data);
      if (step->event == RequestEvent::forward_request) {
        note(seen, "forward");
        seen.head = text_of(head, attributes);
      }
      if (step->event == RequestEvent::body_end || step->event == RequestEvent::cping) {
        run.close(seen);
        note(seen, step->event == RequestEvent::cping ? "cping" : "body_end");
      }
      const bool may_ask = step->event == RequestEvent::forward_request || step->event == RequestEvent::body;
      if (may_ask && !decoder.awaiting_body() && asks-- > 0) decoder.expect_body();
    }
  }
  run.close(seen);
  seen.done = decoder.finish().has_value();
  return seen;
}

inline Seen run_request(std::string_view input, int asks = 0, std::size_t packet_size = kMinPacket) {
  RequestDecoder decoder(packet_size, {});
  return run_request(decoder, {input}, asks);
}

}  // namespace pontage::ajp13::testing
