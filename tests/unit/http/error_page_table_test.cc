// Which status each failure becomes, and what its page says (ADAPTERS X17; DESIGN "Metrics and logs").
#include <string>

#include <gtest/gtest.h>

#include "src/http/error_page.h"
#include "src/net/reactor.h"

namespace pontage::http {
namespace {

using util::ErrorKind;
using util::Source;

struct Row {
  ErrorKind kind;
  Source source;
  int status;
  const char* end;
};

TEST(ErrorPageTable, GivesEachFailureItsStatusAndLogReason) {
  const Row rows[] = {
      {ErrorKind::closed, Source::client, 499, "CD"},         {ErrorKind::closed, Source::server, 502, "SB"},
      {ErrorKind::timeout, Source::client, 408, "CT"},        {ErrorKind::timeout, Source::server, 504, "ST"},
      {ErrorKind::too_slow, Source::client, 408, "CT"},       {ErrorKind::refused, Source::server, 502, "SC"},
      {ErrorKind::misdirected, Source::client, 421, "CR"},    {ErrorKind::unresolved, Source::server, 502, "SN"},
      {ErrorKind::protocol, Source::server, 502, "SP"},       {ErrorKind::limit, Source::server, 502, "SL"},
      {ErrorKind::too_large, Source::client, 413, "CL"},      {ErrorKind::queue_full, Source::gateway, 503, "GQ"},
      {ErrorKind::queue_timeout, Source::gateway, 503, "GQ"}, {ErrorKind::no_server, Source::gateway, 503, "GN"},
      {ErrorKind::overload, Source::gateway, 503, "GO"},      {ErrorKind::unsupported, Source::gateway, 501, "GU"}};
  for (const Row& row : rows) {
    const util::Error error{.kind = row.kind, .source = row.source};
    EXPECT_EQ(status_of(error), row.status) << util::to_string(row.kind);
    EXPECT_EQ(end_reason(error), row.end) << util::to_string(row.kind);
  }
}

TEST(ErrorPageTable, NamesTheLimitByItsStatus) {
  auto status = [](wire::DecodeError why) { return status_of(util::fail_decode(why, Source::client).error()); };
  EXPECT_EQ(status(wire::DecodeError::request_line_too_long), 414);
  EXPECT_EQ(status(wire::DecodeError::header_too_long), 431);
  EXPECT_EQ(status(wire::DecodeError::too_many_headers), 431);
  EXPECT_EQ(status(wire::DecodeError::unsupported_version), 505);
  EXPECT_EQ(status(wire::DecodeError::unsupported_transfer_encoding), 501);
  EXPECT_EQ(status(wire::DecodeError::malformed_chunk), 400);
}

TEST(ErrorPageTable, FollowsAccept) {
  net::Reactor reactor;
  Exchange exchange(reactor);
  auto type_for = [&](std::string_view accept) {
    exchange.request.headers = message::HeaderList(exchange.arena);
    if (!accept.empty()) exchange.request.headers.add(message::HeaderId::accept, accept);
    const Response page = make_error_response(exchange, 503, "queue");
    EXPECT_TRUE(page.head.headers.has(message::HeaderId::retry_after));
    return std::string(page.head.headers.value(message::HeaderId::content_type));
  };
  EXPECT_EQ(type_for("application/json"), "application/problem+json");
  EXPECT_EQ(type_for("text/html,*/*;q=0.8"), "text/html; charset=utf-8");
  EXPECT_EQ(type_for(""), "text/plain; charset=utf-8");
}

}  // namespace
}  // namespace pontage::http
