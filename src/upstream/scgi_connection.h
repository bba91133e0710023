// The scgi and uwsgi adapters (ADAPTERS section 5): variables in one block, the body raw behind them, and a CGI or
// HTTP/1 response up to the end of the stream. Both are one class, for they differ in the block alone. A connection is
// good for one request. Worker's thread.
#pragma once

#include "src/upstream/cgi_connection.h"

namespace pontage::upstream {

enum class BlockEncoding : std::uint8_t { scgi, uwsgi };

class ScgiConnection final : public CgiConnection {
 public:
  ScgiConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream, BlockEncoding encoding)
      : CgiConnection(std::move(server), std::move(stream)), encoding_(encoding) {}

  // Whether uwsgi's block holds the variables: at most `most` bytes. The error is a limit: 431; the log says both
  // sizes.
  static util::Result<void> check_fit(const cgi::VariableList& variables, const BackendServer& server,
                                      std::uint64_t most);

 private:
  std::size_t request_room(const cgi::VariableList& variables) const override;
  util::Result<void> encode_request(wire::Sink& sink, const cgi::VariableList& variables) override;
  // The direction is not shut down after the body: some servers take that for the client leaving (S2).
  std::string_view body_header(std::size_t) override { return {}; }
  std::string_view body_end() const override { return {}; }
  util::Result<Unwrapped> unwrap(std::string_view input) override {
    return Unwrapped{.consumed = input.size(), .output = input};
  }
  bool ends_with_stream() const noexcept override { return true; }
  bool says_end() const noexcept override { return false; }
  bool keeps_open() const noexcept override { return false; }
  void note_no_answer(std::size_t request_bytes) const noexcept override;

  const BlockEncoding encoding_;
};

}  // namespace pontage::upstream
