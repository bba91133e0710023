#include "protocols/http1/encoder.h"

#include "protocols/message/status.h"

namespace pontage::http1 {

void encode_request_line(wire::Sink& sink, std::string_view method, std::string_view path, bool has_query,
                         std::string_view query) {
  sink.append(method);
  sink.append(' ');
  sink.append(path);
  if (has_query) {
    sink.append('?');
    sink.append(query);
  }
  sink.append(" HTTP/1.1\r\n");
}

void encode_status_line(wire::Sink& sink, message::Version version, int status) {
  sink.append(version == message::kHttp10 ? "HTTP/1.0 " : "HTTP/1.1 ");
  sink.append_decimal(static_cast<std::uint64_t>(status));
  sink.append(' ');
  sink.append(message::reason_phrase(status));
  sink.append("\r\n");
}

void encode_field(wire::Sink& sink, std::string_view name, std::string_view value) {
  sink.append(name);
  sink.append(": ");
  sink.append(value);
  sink.append("\r\n");
}

void encode_framing(wire::Sink& sink, const message::BodyFraming& framing) {
  switch (framing.kind) {
    case message::BodyKind::none:
    case message::BodyKind::until_close: return;
    case message::BodyKind::exact:
      sink.append("Content-Length: ");
      sink.append_decimal(framing.length);
      sink.append("\r\n");
      return;
    case message::BodyKind::chunked: sink.append("Transfer-Encoding: chunked\r\n"); return;
  }
}

void encode_end_of_head(wire::Sink& sink) {
  sink.append("\r\n");
}

void encode_chunk_start(wire::Sink& sink, std::uint64_t size) {
  sink.append_hex(size);
  sink.append("\r\n");
}

void encode_last_chunk(wire::Sink& sink, const message::HeaderList& trailers) {
  sink.append("0\r\n");
  for (const auto& h : trailers) encode_field(sink, h.name, h.value);
  sink.append("\r\n");
}

}  // namespace pontage::http1
