#include "protocols/fastcgi/request_encoder.h"

#include "protocols/fastcgi/record.h"

namespace pontage::fastcgi {
namespace {

void append_header(wire::Sink& sink, RecordType type, std::size_t content) {
  const auto header = record_header(type, content);
  sink.append({header.data(), header.size()});
}

std::size_t length_size(std::size_t length) noexcept {
  return length < kLongLength ? 1 : 4;
}

std::size_t pair_size(const cgi::Variable& v) noexcept {
  return length_size(v.name.size()) + length_size(v.value.size()) + v.name.size() + v.value.size();
}

void append_length(wire::Sink& sink, std::size_t length) {
  if (length < kLongLength) return sink.append_u8(static_cast<std::uint8_t>(length));
  sink.append_u16be(static_cast<std::uint16_t>(length >> 16 | 0x8000));
  sink.append_u16be(static_cast<std::uint16_t>(length));
}

bool is_sent(const cgi::Variable& v) noexcept {
  return v.name != "CONTENT_LENGTH" || v.value != "0";
}

}  // namespace

std::size_t request_room(const cgi::VariableList& variables) noexcept {
  std::size_t content = 0;
  for (const auto& v : variables) content += pair_size(v);
  // A record is begun only when the pair at hand does not fit: two neighbours hold more than one record's content.
  return 4 * kHeader + content + (2 * content / kMostContent + 1) * kHeader;
}

wire::Expected<void, TooLarge> encode_request(wire::Sink& sink, const cgi::VariableList& variables, Keep keep) {
  const std::size_t start = sink.size();
  append_header(sink, RecordType::begin_request, 8);
  sink.append_u16be(kResponder);
  sink.append_u8(keep == Keep::yes ? 1 : 0);
  for (int reserved = 0; reserved < 5; ++reserved) sink.append_u8(0);

  std::size_t record = sink.size();
  std::size_t content = 0;
  append_header(sink, RecordType::params, 0);
  for (const auto& v : variables) {
    if (!is_sent(v)) continue;
    const std::size_t size = pair_size(v);
    if (size > kMostContent) {
      sink.truncate(start);
      return wire::Unexpected(TooLarge{v.name, v.name.size() + v.value.size()});
    }
    if (content + size > kMostContent) {
      if (!sink.overflowed()) sink.patch_u16be(record + 4, static_cast<std::uint16_t>(content));
      record = sink.size();
      content = 0;
      append_header(sink, RecordType::params, 0);
    }
    append_length(sink, v.name.size());
    append_length(sink, v.value.size());
    sink.append(v.name);
    sink.append(v.value);
    content += size;
  }
  if (!sink.overflowed()) sink.patch_u16be(record + 4, static_cast<std::uint16_t>(content));
  if (content > 0) append_header(sink, RecordType::params, 0);
  return {};
}

std::array<char, kHeader> stdin_header(std::size_t n) noexcept {
  return record_header(RecordType::stdin_, n);
}

void encode_stdin_end(wire::Sink& sink) {
  append_header(sink, RecordType::stdin_, 0);
}

void encode_abort(wire::Sink& sink) {
  append_header(sink, RecordType::abort_request, 0);
}

}  // namespace pontage::fastcgi
