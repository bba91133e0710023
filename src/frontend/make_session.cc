#include "src/frontend/make_session.h"

#include "src/frontend/http1_session.h"
#include "src/frontend/http2_session.h"

namespace pontage::frontend {

std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, SessionRules rules, std::string_view received) {
  if (connection.protocol == kHttp2Name) {
    return std::make_unique<Http2Session>(host, std::move(stream), std::move(connection), rules, received);
  }
  return std::make_unique<Http1Session>(host, std::move(stream), std::move(connection), rules);
}

}  // namespace pontage::frontend
