// Compression while sending: wraps the handler of a route and compresses its answers for clients that understand it
// (RFC 9110 8.4, 12.5.3). Made at config load with the inner handler, which it owns; immutable, shared by all workers.
//
// Compressed is what has a body of a listed type, is known to be no shorter than min_size, and is whole: not 206, 204,
// 205 or 304, no Content-Range. Never what has a Content-Encoding already (but "identity"), nor when the request or the
// response says `Cache-Control: no-transform`. The head then tells of the coding, the length goes (the body becomes
// chunked), with it Accept-Ranges and the digests of the bytes as they were, and a strong ETag becomes weak: the bytes
// are others, what they say is the same (RFC 9110 8.8.1). HEAD gets the head that GET would get, without a length.
//
// Every answer of a listed type says `Vary: Accept-Encoding`, compressed or not, since the next one may differ; 206 and
// 304 as well (RFC 9110 15.3.7, 15.4.5). A 304 without a type says nothing of the coding, but the client does: when its
// If-None-Match names the weak form of the strong ETag in the answer, what it holds was compressed here; then the
// answer repeats that weak tag and says Vary, as the 200 did. Otherwise such a 304 passes as it is.
#pragma once

#include <memory>

#include "src/config/config.h"
#include "src/http/handler.h"

namespace pontage::handlers {

class CompressHandler final : public http::Handler {
 public:
  CompressHandler(std::unique_ptr<http::Handler> inner, config::Compression rules);

  // The inner handler's answer, or error. Without memory for an encoder, and past EncoderShare's limit, the
  // answer is sent as it is.
  net::Task<util::Result<http::Response>> handle(http::Exchange& exchange) override;

 private:
  std::unique_ptr<http::Handler> inner_;
  config::Compression rules_;
};

}  // namespace pontage::handlers
