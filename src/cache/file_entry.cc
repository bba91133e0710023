#include "src/cache/file_entry.h"

#include <cstring>
#include <new>

#include "protocols/message/http_date.h"
#include "protocols/wire/sink.h"

namespace pontage::cache {
namespace {

using message::HeaderId;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
// What a table's node and its share of the buckets take beside the entry.
constexpr std::size_t kTableShare = 48;

// What Last-Modified may say. 1970 means that nobody kept the time: a validator from it would never change (CASES S13).
std::int64_t claimed_seconds(const Stamp& stamp, std::int64_t now) noexcept {
  if (stamp.modified_ns < kNanoseconds) return 0;
  const std::int64_t seconds = stamp.modified_ns / kNanoseconds;
  return seconds > now ? now : seconds;
}

// The head's text while it is written, with the places of its values.
class HeadWriter {
 public:
  explicit HeadWriter(std::span<char> room) noexcept : sink_(room) {}

  template <class Value>
  FileEntry::Field field(HeaderId id, Value&& write) noexcept {
    sink_.append(message::header_name(id));
    sink_.append(": ");
    const std::size_t at = sink_.size();
    write(sink_);
    const std::size_t size = sink_.size() - at;
    sink_.append("\r\n");
    return {id, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(size)};
  }
  std::string_view text() const noexcept { return sink_.view(); }

 private:
  wire::Sink sink_;
};

// Size, time and inode in hexadecimal: a strong validator, because each of them changes with the bytes. An encoded
// variant has one of its own (RFC 9110 8.8.3.3).
void write_etag(wire::Sink& sink, const Stamp& stamp, std::string_view coding) noexcept {
  sink.append('"');
  sink.append_hex(stamp.size);
  sink.append('-');
  sink.append_hex(static_cast<std::uint64_t>(stamp.modified_ns));
  sink.append('-');
  sink.append_hex(stamp.inode);
  if (!coding.empty()) sink.append('-');
  sink.append(coding);
  sink.append('"');
}

constexpr std::size_t kHeadRoom = 1024;
constexpr std::size_t kMaxText = 256;  // bytes of one configured value

struct Head {
  std::array<char, kHeadRoom> room;
  std::size_t size = 0;
  std::size_t not_modified = 0;
  std::array<FileEntry::Field, FileEntry::kFields> fields{};
  std::uint8_t count = 0;
};

Head make_head(const FileEntry::Parts& parts, std::int64_t modified_seconds) noexcept {
  Head head;
  HeadWriter writer(head.room);
  const Presentation& shown = parts.shown;
  const auto text = [&](HeaderId id, std::string_view value) {
    if (value.empty() || value.size() > kMaxText) return;
    head.fields[head.count++] = writer.field(id, [&](wire::Sink& s) { s.append(value); });
  };
  // A 304 repeats these, so they come first (RFC 9110 15.4.5).
  head.fields[head.count++] =
      writer.field(HeaderId::etag, [&](wire::Sink& s) { write_etag(s, parts.stamp, shown.content_encoding); });
  if (modified_seconds != 0) {
    const message::HttpDate date = message::format_http_date(modified_seconds);
    text(HeaderId::last_modified, {date.data(), date.size()});
  }
  text(HeaderId::cache_control, shown.cache_control);
  if (shown.vary == Presentation::Vary::accept_encoding) text(HeaderId::vary, "Accept-Encoding");
  head.not_modified = writer.text().size();
  text(HeaderId::accept_ranges, "bytes");
  text(HeaderId::content_encoding, shown.content_encoding);
  text(HeaderId::content_type, shown.content_type);
  writer.field(HeaderId::content_length, [&](wire::Sink& s) { s.append_decimal(parts.stamp.size); });
  head.size = writer.text().size();
  return head;
}

}  // namespace

FileEntry::FileEntry(const Parts& parts, std::size_t text_size) noexcept
    : root_(parts.root),
      path_size_(static_cast<std::uint32_t>(parts.path.size())),
      text_size_(static_cast<std::uint32_t>(text_size)),
      body_size_(static_cast<std::uint32_t>(parts.body)),
      kind_(parts.kind),
      stamp_(parts.stamp),
      source_(parts.source) {}

EntryRef FileEntry::make(Parts parts) {
  Head head;
  std::int64_t modified = 0;
  if (parts.kind == FileKind::file) {
    modified = claimed_seconds(parts.stamp, parts.now_seconds);
    head = make_head(parts, modified);
  }
  void* block = ::operator new(sizeof(FileEntry) + parts.path.size() + head.size + parts.body);
  auto* entry = new (block) FileEntry(parts, head.size);
  entry->modified_seconds_ = modified;
  entry->not_modified_size_ = static_cast<std::uint32_t>(head.not_modified);
  entry->fields_ = head.fields;
  entry->field_count_ = head.count;
  entry->file_ = std::move(parts.file);
  if (!parts.path.empty()) std::memcpy(entry->storage(), parts.path.data(), parts.path.size());
  std::memcpy(entry->storage() + parts.path.size(), head.room.data(), head.size);
  return EntryRef(entry);
}

std::string_view FileEntry::value(HeaderId id) const noexcept {
  for (const Field& field : fields()) {
    if (field.id == id) return field.value(prepared());
  }
  return {};
}

std::size_t FileEntry::memory() const noexcept {
  return sizeof(FileEntry) + path_size_ + text_size_ + body_size_ + kTableShare;
}

void FileEntry::release() noexcept {
  if (uses_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~FileEntry();
  ::operator delete(static_cast<void*>(this));
}

}  // namespace pontage::cache
