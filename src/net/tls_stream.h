// TlsStream: a ByteStream that speaks TLS over a socket of its own. OpenSSL reads and writes the socket through a BIO
// that knows what the reactor reported, so that nothing is tried in vain; its record buffers exist only while bytes are
// in them. Small pieces are gathered into whole records. Worker's thread.
//
// When a record did not fit into the socket, its bytes count as written once it is out: whoever writes again begins
// with the same bytes, as write_all() does.
#pragma once

#include <memory>
#include <string_view>

#include "src/net/stream.h"
#include "src/net/tls_facts.h"
#include "src/net/tls_handle.h"

namespace pontage::net {

class TlsClient;
class TlsServer;

class TlsStream final : public ByteStream {
 public:
  // The server's side of a connection; the handshake is due.
  TlsStream(Reactor& reactor, util::UniqueFd fd, std::shared_ptr<const TlsServer> server);
  // The client's side, towards a server.
  TlsStream(Reactor& reactor, util::UniqueFd fd, std::shared_ptr<TlsClient> client);
  ~TlsStream() override;

  // Before anything else. Errors carry `source`: timeout, cancelled, closed, reset, protocol with OpenSSL's reason.
  Task<util::Result<void>> handshake(Deadline deadline, observe::Phase phase, util::Source source);
  // After the handshake of the server's side.
  std::shared_ptr<const TlsFacts> facts() const;
  // What ALPN agreed on; empty without.
  std::string_view protocol() const noexcept;
  // Towards servers; nullptr on the server's side.
  TlsClient* client() const noexcept { return client_.get(); }
  bool resumed() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }
  // The handshake failed because the client spoke HTTP without TLS.
  bool met_plain_http() const noexcept { return plain_http_; }

  IoResult try_read(std::span<char> room) noexcept override;
  IoResult try_write(std::span<const iovec> pieces, More more) noexcept override;
  IoResult try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept override;
  // Sends close_notify, too.
  void shutdown_write() noexcept override;
  // Bytes that only TLS itself is about (a session ticket) do not.
  bool input_matters() noexcept override;

 private:
  enum class After : std::uint8_t { record, nothing };

  void open(SslPtr ssl);
  IoResult trouble(int returned) noexcept;
  // Sends one record of `size` bytes, of which the caller has not been told about `unreported` yet.
  IoResult write_record(const char* data, std::size_t size, std::size_t unreported, After after) noexcept;
  IoResult write_owed() noexcept;
  bool is_clean() const noexcept;
  void close_notify() noexcept;

  friend int tls_bio_write(BIO* bio, const char* data, int size);
  friend int tls_bio_read(BIO* bio, char* room, int size);

  std::shared_ptr<const TlsServer> server_;
  std::shared_ptr<TlsClient> client_;
  SslPtr ssl_;
  Chunk stash_;  // bytes that wait for more to fill a record
  std::size_t stashed_ = 0;
  std::size_t owed_ = 0;         // size of a record that is not out yet, and
  std::size_t owed_report_ = 0;  // how many bytes are to be reported then
  std::string_view reason_;      // why OpenSSL gave up; static
  IoResult broken_;              // not `done`: the end or error that every later read finds
  int os_error_ = 0;
  bool established_ = false;
  bool more_follows_ = false;
  bool socket_ended_ = false;
  bool plain_http_ = false;
};

}  // namespace pontage::net
