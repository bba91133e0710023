#include "src/frontend/make_session.h"

#include "src/frontend/http1_session.h"

namespace pontage::frontend {

std::unique_ptr<Session> make_session(SessionHost& host, std::unique_ptr<net::ByteStream> stream,
                                      http::ConnectionInfo connection, config::Listener::HalfClose half_close) {
  return std::make_unique<Http1Session>(host, std::move(stream), std::move(connection), half_close);
}

}  // namespace pontage::frontend
