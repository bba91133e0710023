// The fastcgi adapter: FastCGI 1.0 towards PHP-FPM and its like (ADAPTERS section 2). One request at a time on a
// connection, with id 1; kept only when the backend's keep_alive says so (F8). What the server says on STDERR goes to
// the log. Worker's thread.
#pragma once

#include <array>
#include <string>

#include "protocols/fastcgi/response_decoder.h"
#include "src/upstream/cgi_connection.h"

namespace pontage::upstream {

class FastCgiConnection final : public CgiConnection {
 public:
  FastCgiConnection(std::shared_ptr<BackendServer> server, std::unique_ptr<net::ByteStream> stream)
      : CgiConnection(std::move(server), std::move(stream)) {}

  // Whether each variable fits into a record. The error is a limit: 431; the log names the variable.
  static util::Result<void> check_fit(const cgi::VariableList& variables, const BackendServer& server);

 private:
  void begin() override;
  std::size_t request_room(const cgi::VariableList& variables) const override;
  util::Result<void> encode_request(wire::Sink& sink, const cgi::VariableList& variables) override;
  std::string_view body_header(std::size_t bytes) override;
  std::string_view body_end() const override;
  util::Result<Unwrapped> unwrap(std::string_view input) override;
  bool ends_with_stream() const noexcept override { return !keep_ && decoder_.between_records(); }
  bool says_end() const noexcept override { return true; }
  bool keeps_open() const noexcept override { return keep_; }
  void abandon() noexcept override;
  void note_end() noexcept override { log_line(); }

  void log_line();

  fastcgi::ResponseDecoder decoder_;
  std::array<char, fastcgi::kHeader> stdin_header_{};
  std::string line_;         // of STDERR, so far
  std::string_view script_;  // SCRIPT_FILENAME as sent; lives as long as the exchange
  bool keep_ = false;        // what this request asked for
  bool begun_ = false;       // output has come
};

}  // namespace pontage::upstream
