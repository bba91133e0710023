#include "src/observe/access_record.h"

#include <array>
#include <chrono>

#include "src/observe/escape.h"

namespace pontage::observe {
namespace {

void append_padded(wire::Sink& out, std::uint64_t value, unsigned digits) noexcept {
  char text[4];
  for (unsigned i = digits; i > 0; --i) {
    text[i - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(std::string_view(text, digits));
}

struct CivilTime {
  std::uint64_t year, month, day, hour, minute, second, millisecond;
};

CivilTime civil(std::uint64_t ns) noexcept {
  const std::uint64_t seconds = ns / 1'000'000'000;
  const std::chrono::sys_days days{std::chrono::days(static_cast<int>(seconds / 86400))};
  const std::chrono::year_month_day date{days};
  return {static_cast<std::uint64_t>(static_cast<int>(date.year())),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          seconds / 3600 % 24,
          seconds / 60 % 60,
          seconds % 60,
          ns / 1'000'000 % 1000};
}

// 10/Oct/2026:13:55:36 +0000
void append_apache_time(wire::Sink& out, std::uint64_t ns) noexcept {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime time = civil(ns);
  append_padded(out, time.day, 2);
  out.append('/');
  out.append(kMonths[time.month - 1]);
  out.append('/');
  append_padded(out, time.year, 4);
  for (const std::uint64_t part : {time.hour, time.minute, time.second}) {
    out.append(':');
    append_padded(out, part, 2);
  }
  out.append(" +0000");
}

// 2026-10-10T13:55:36.123Z (RFC 3339)
void append_rfc3339(wire::Sink& out, std::uint64_t ns) noexcept {
  const CivilTime time = civil(ns);
  append_padded(out, time.year, 4);
  out.append('-');
  append_padded(out, time.month, 2);
  out.append('-');
  append_padded(out, time.day, 2);
  char before = 'T';
  for (const std::uint64_t part : {time.hour, time.minute, time.second}) {
    out.append(before);
    append_padded(out, part, 2);
    before = ':';
  }
  out.append('.');
  append_padded(out, time.millisecond, 3);
  out.append('Z');
}

void append_quoted(wire::Sink& out, std::string_view text, std::size_t limit) noexcept {
  out.append('"');
  if (text.empty()) {
    out.append('-');
  } else {
    append_escaped(out, text.substr(0, limit));
  }
  out.append('"');
}

void append_request_line(wire::Sink& out, const AccessRecord& record) noexcept {
  if (record.method.empty() && record.target.empty()) return append_quoted(out, {}, 0);
  out.append('"');
  std::string_view space;
  for (const std::string_view part :
       {record.method.substr(0, kMaxLoggedField), record.target.substr(0, kMaxLoggedTarget),
        record.version.substr(0, kMaxLoggedField)}) {
    if (part.empty()) continue;
    out.append(space);
    append_escaped(out, part);
    space = " ";
  }
  out.append('"');
}

struct JsonText {
  std::string_view key;  // with the quotes, the colon and what comes before
  std::string_view AccessRecord::*value;
  std::size_t limit = kMaxLoggedField;
};

void append_json(wire::Sink& out, const AccessRecord& record, const JsonText& field) noexcept {
  out.append(field.key);
  out.append('"');
  // A cut through a UTF-8 sequence shows as \ufffd.
  append_json_escaped(out, (record.*field.value).substr(0, field.limit));
  out.append('"');
}

void append_json(wire::Sink& out, std::string_view key, std::uint64_t value) noexcept {
  out.append(key);
  out.append_decimal(value);
}

void append_json_phases(wire::Sink& out, const AccessRecord::Phases& phases) noexcept {
  append_json(out, ",\"t_parse\":", phases.parse);
  append_json(out, ",\"t_queue\":", phases.queue);
  append_json(out, ",\"t_connect\":", phases.connect);
  append_json(out, ",\"t_send\":", phases.send);
  append_json(out, ",\"t_wait\":", phases.wait);
  append_json(out, ",\"t_transfer\":", phases.transfer);
  append_json(out, ",\"t_loop\":", phases.loop);
  append_json(out, ",\"t_total\":", phases.total);
  append_json(out, ",\"t_toll\":", phases.toll);
}

constexpr JsonText kWho[] = {
    {",\"id\":", &AccessRecord::request_id},
    {",\"trace_id\":", &AccessRecord::trace_id},
    {",\"client\":", &AccessRecord::client},
    {",\"peer\":", &AccessRecord::peer},
    {",\"method\":", &AccessRecord::method},
    {",\"host\":", &AccessRecord::host},
    {",\"uri\":", &AccessRecord::target, kMaxLoggedTarget},
    {",\"proto\":", &AccessRecord::version},
};
constexpr JsonText kWhere[] = {
    {",\"route\":", &AccessRecord::route},
    {",\"backend\":", &AccessRecord::backend},
    {",\"server\":", &AccessRecord::server},
};
constexpr JsonText kWhat[] = {
    {",\"cache\":", &AccessRecord::cache},
    {",\"referer\":", &AccessRecord::referer, kMaxLoggedHeader},
    {",\"ua\":", &AccessRecord::user_agent, kMaxLoggedHeader},
};
constexpr JsonText kEnd[] = {
    {",\"end\":", &AccessRecord::end},
    {",\"err\":", &AccessRecord::error},
};
static_assert(kMaxEscape * (kMaxLoggedTarget + 2 * kMaxLoggedHeader + 14 * kMaxLoggedField) + 1024 <= kMaxAccessLine);

}  // namespace

void format_combined(const AccessRecord& record, wire::Sink& out) noexcept {
  append_escaped_word(out, record.client.substr(0, kMaxLoggedField));
  out.append(" - - [");
  append_apache_time(out, record.time_ns);
  out.append("] ");
  append_request_line(out, record);
  out.append(' ');
  append_padded(out, record.status, 3);
  out.append(' ');
  if (record.bytes_out == 0) {
    out.append('-');
  } else {
    out.append_decimal(record.bytes_out);
  }
  out.append(' ');
  append_quoted(out, record.referer, kMaxLoggedHeader);
  out.append(' ');
  append_quoted(out, record.user_agent, kMaxLoggedHeader);
  out.append('\n');
}

void format_json(const AccessRecord& record, wire::Sink& out) noexcept {
  out.append("{\"ts\":\"");
  append_rfc3339(out, record.time_ns);
  out.append('"');
  for (const JsonText& field : kWho) append_json(out, record, field);
  append_json(out, ",\"status\":", record.status);
  append_json(out, ",\"bytes_in\":", record.bytes_in);
  append_json(out, ",\"bytes_out\":", record.bytes_out);
  for (const JsonText& field : kWhere) append_json(out, record, field);
  append_json(out, ",\"attempts\":", record.attempts);
  for (const JsonText& field : kWhat) append_json(out, record, field);
  append_json_phases(out, record.phases);
  for (const JsonText& field : kEnd) append_json(out, record, field);
  out.append("}\n");
}

}  // namespace pontage::observe
