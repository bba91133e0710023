#include "protocols/fastcgi/response_encoder.h"

#include "protocols/fastcgi/record.h"

namespace pontage::fastcgi {

void encode_record(wire::Sink& sink, RecordType type, std::string_view content, std::uint8_t padding) {
  const auto header = record_header(type, content.size(), padding);
  sink.append({header.data(), header.size()});
  sink.append(content);
  for (std::uint8_t i = 0; i < padding; ++i) sink.append('\0');
}

void encode_end_request(wire::Sink& sink, std::uint32_t app_status, ProtocolStatus status) {
  constexpr std::size_t kSize = 8;
  const auto header = record_header(RecordType::end_request, kSize);
  sink.append({header.data(), header.size()});
  sink.append_u16be(static_cast<std::uint16_t>(app_status >> 16));
  sink.append_u16be(static_cast<std::uint16_t>(app_status));
  sink.append_u8(static_cast<std::uint8_t>(status));
  for (int reserved = 0; reserved < 3; ++reserved) sink.append_u8(0);
}

}  // namespace pontage::fastcgi
