#include <string>

#include "protocols/fastcgi/response_encoder.h"
#include "src/origin/cgi_session.h"
#include "src/origin/faults_cgi.h"
#include "src/origin/pattern.h"

namespace pontage::origin {
namespace {

using After = Session::After;
using fastcgi::ProtocolStatus;
using fastcgi::RecordType;
using namespace std::string_view_literals;

constexpr std::string_view kGood = "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\ngood\n";

net::Task<Done> nothing_more() {
  co_return Done{};
}

void put_record(CgiSession& session, RecordType type, std::string_view content, std::uint8_t padding = 0) {
  session.out().encode([&](wire::Sink& sink) { fastcgi::encode_record(sink, type, content, padding); });
}
net::Task<Done> end_with(CgiSession& session, std::uint32_t app_status, ProtocolStatus status) {
  session.out().encode([&](wire::Sink& sink) { fastcgi::encode_end_request(sink, app_status, status); });
  return nothing_more();
}
net::Task<Done> raw(CgiSession& session, std::string_view bytes) {
  session.out().append(bytes);
  return nothing_more();
}

net::Task<Done> wrong_version(CgiSession& session) {
  return raw(session, "\x02\x06\0\x01\0\0\0\0"sv);
}
net::Task<Done> wrong_id(CgiSession& session) {
  return raw(session, "\x01\x06\0\x02\0\0\0\0"sv);
}
net::Task<Done> unknown_type(CgiSession& session) {
  return raw(session, "\x01\x0b\0\x01\0\x08\0\0\x0c\0\0\0\0\0\0\0"sv);
}
net::Task<Done> short_end(CgiSession& session) {
  return raw(session, "\x01\x03\0\x01\0\x07\0\0\0\0\0\0\0\0\0"sv);
}
net::Task<Done> mid_record(CgiSession& session) {
  session.out().append("\x01\x06\0\x01\x03\xe8\0\0"sv);
  session.then(After::close);
  return raw(session, "Content-Type: text/plain\r\n\r\ngood\n");
}
net::Task<Done> split(CgiSession& session) {
  for (std::size_t i = 0; i < kGood.size(); ++i) put_record(session, RecordType::stdout_, kGood.substr(i, 1));
  session.put_end();
  return nothing_more();
}
net::Task<Done> padded(CgiSession& session) {
  put_record(session, RecordType::stdout_, kGood.substr(0, 7), 255);
  put_record(session, RecordType::stdout_, kGood.substr(7), 1);
  put_record(session, RecordType::stdout_, {}, 255);
  return end_with(session, 0, ProtocolStatus::request_complete);
}
net::Task<Done> error_text(CgiSession& session) {
  put_record(session, RecordType::stderr_, "before\n", 1);
  session.put(kGood.substr(0, 20));
  put_record(session, RecordType::stderr_, "within");
  session.put(kGood.substr(20));
  put_record(session, RecordType::stderr_, "behind\n");
  put_record(session, RecordType::stderr_, {});
  session.put_end();
  return nothing_more();
}
net::Task<Done> much_error_text(CgiSession& session) {
  for (int i = 0; i < 16; ++i) put_record(session, RecordType::stderr_, pattern(60'000));
  session.put(kGood);
  session.put_end();
  return nothing_more();
}
net::Task<Done> only_error_text(CgiSession& session) {
  put_record(session, RecordType::stderr_, "no answer\n");
  session.put_end();
  return nothing_more();
}
net::Task<Done> app_status(CgiSession& session) {
  session.put(kGood);
  return end_with(session, 0xffffffff, ProtocolStatus::request_complete);
}
net::Task<Done> cannot_multiplex(CgiSession& session) {
  return end_with(session, 0, ProtocolStatus::cannot_multiplex);
}
net::Task<Done> overloaded(CgiSession& session) {
  return end_with(session, 0, ProtocolStatus::overloaded);
}
net::Task<Done> unknown_role(CgiSession& session) {
  return end_with(session, 0, ProtocolStatus::unknown_role);
}
net::Task<Done> late_overload(CgiSession& session) {
  session.put("Content-Type: text/plain\r\n\r\n");
  session.put("good\n");
  return end_with(session, 0, ProtocolStatus::overloaded);
}
net::Task<Done> output_after_its_end(CgiSession& session) {
  session.put("Content-Type: text/plain\r\n\r\n");
  put_record(session, RecordType::stdout_, {});
  session.put("good\n");
  session.put_end();
  return nothing_more();
}
net::Task<Done> output_after_end(CgiSession& session) {
  session.put(kGood);
  session.put_end();
  session.put("more\n");
  return nothing_more();
}
net::Task<Done> double_end(CgiSession& session) {
  session.put(kGood);
  session.put_end();
  session.put_end();
  return nothing_more();
}
net::Task<Done> no_output_end(CgiSession& session) {
  session.put(kGood);
  return end_with(session, 0, ProtocolStatus::request_complete);
}

constexpr CgiFault kFaults[] = {
    {"wrong-version", &wrong_version},
    {"wrong-id", &wrong_id},
    {"unknown-type", &unknown_type},
    {"short-end", &short_end},
    {"mid-record", &mid_record},
    {"split", &split},
    {"padded", &padded},
    {"stderr", &error_text},
    {"much-stderr", &much_error_text},
    {"only-stderr", &only_error_text},
    {"app-status", &app_status},
    {"cannot-multiplex", &cannot_multiplex},
    {"overloaded", &overloaded},
    {"unknown-role", &unknown_role},
    {"late-overload", &late_overload},
    {"output-after-its-end", &output_after_its_end},
    {"output-after-end", &output_after_end},
    {"double-end", &double_end},
    {"no-output-end", &no_output_end},
};

}  // namespace

std::span<const CgiFault> fastcgi_faults() noexcept {
  return kFaults;
}

}  // namespace pontage::origin
