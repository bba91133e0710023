#include "src/net/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <sys/socket.h>
#include <unistd.h>

#include "src/net/tls_client.h"
#include "src/net/tls_server.h"

namespace pontage::net {
namespace {

constexpr std::size_t kRecord = 16 * 1024;  // the largest payload of a record, and a chunk's size
static_assert(kRecord == ChunkPool::kChunk);

// OpenSSL wants to be shown as many bytes again when a record was left half sent, but does not look at them.
constexpr char kShown[kRecord] = {};

TlsStream* stream_of(BIO* bio) noexcept {
  return static_cast<TlsStream*>(BIO_get_data(bio));
}

long bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace

int tls_bio_write(BIO* bio, const char* data, int size) {
  TlsStream& stream = *stream_of(bio);
  BIO_clear_retry_flags(bio);
  if (!stream.writable_) {
    BIO_set_retry_write(bio);
    return -1;
  }
  const int flags = MSG_NOSIGNAL | (stream.more_follows_ ? MSG_MORE : 0);
  const ssize_t sent = ::send(stream.fd_.get(), data, static_cast<std::size_t>(size), flags);
  // After an error no edge comes: OpenSSL, which forgives it while it sends tickets, is to meet it again.
  if (sent < size) stream.writable_ = sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
  if (sent >= 0) return static_cast<int>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    BIO_set_retry_write(bio);
  } else {
    stream.os_error_ = errno;
  }
  return -1;
}

int tls_bio_read(BIO* bio, char* room, int size) {
  TlsStream& stream = *stream_of(bio);
  BIO_clear_retry_flags(bio);
  if (!stream.socket_readable_) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const ssize_t got = ::recv(stream.fd_.get(), room, static_cast<std::size_t>(size), 0);
  // As in note_read(): a short read has drained the socket.
  if (got > 0) {
    if (got < size) stream.socket_readable_ = stream.peer_closed_;
    return static_cast<int>(got);
  }
  if (got == 0) {
    stream.socket_ended_ = true;
    return 0;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    if (errno != EINTR) stream.socket_readable_ = false;
    BIO_set_retry_read(bio);
  } else {
    stream.os_error_ = errno;
  }
  return -1;
}

namespace {

BIO_METHOD* make_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pontage");
  if (method == nullptr) throw std::bad_alloc();
  BIO_meth_set_write(method, &tls_bio_write);
  BIO_meth_set_read(method, &tls_bio_read);
  BIO_meth_set_ctrl(method, &bio_control);
  return method;
}

const BIO_METHOD* bio_method() {
  static const std::unique_ptr<BIO_METHOD, TlsFree<&BIO_meth_free>> method(make_method());
  return method.get();
}

}  // namespace

TlsStream::TlsStream(Reactor& reactor, util::UniqueFd fd, std::shared_ptr<const TlsServer> server)
    : ByteStream(reactor, std::move(fd)), server_(std::move(server)) {
  open(server_->new_connection());
  if (ssl_) SSL_set_accept_state(ssl_.get());
}

TlsStream::TlsStream(Reactor& reactor, util::UniqueFd fd, std::shared_ptr<TlsClient> client)
    : ByteStream(reactor, std::move(fd)), client_(std::move(client)) {
  open(client_ ? client_->new_connection(reactor.id()) : nullptr);
  if (!ssl_) return;
  SSL_set_app_data(ssl_.get(), this);
  SSL_set_connect_state(ssl_.get());
}

void TlsStream::open(SslPtr ssl) {
  BIO* bio = ssl ? BIO_new(bio_method()) : nullptr;
  if (bio == nullptr) {
    broken_ = {.status = IoStatus::error, .os_error = ENOMEM};
    return;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  ssl_ = std::move(ssl);
  SSL_set_bio(ssl_.get(), bio, bio);
}

TlsStream::~TlsStream() {
  if (!ssl_) return;
  close_notify();
  // OpenSSL takes a session from use whose connection was not closed in its way; that is for TLS 1.0.
  SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

// Nothing was lost, so the end may be called an end.
bool TlsStream::is_clean() const noexcept {
  return established_ && !aborted_ && !failed_ && owed_ == 0 && stashed_ == 0 && broken_.status != IoStatus::error;
}

void TlsStream::close_notify() noexcept {
  if (!is_clean() || (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0) return;
  ERR_clear_error();
  more_follows_ = false;
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void TlsStream::shutdown_write() noexcept {
  close_notify();
  ::shutdown(fd_.get(), SHUT_WR);
}

// What an unsuccessful call means. A wait clears the flag that says there is no need for one.
IoResult TlsStream::trouble(int returned) noexcept {
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return {.status = IoStatus::want_read};
    case SSL_ERROR_WANT_WRITE: return {.status = IoStatus::want_write};
    case SSL_ERROR_ZERO_RETURN: return broken_ = {.status = IoStatus::end};
    default: break;
  }
  const unsigned long code = ERR_peek_error();
  const char* reason = ERR_reason_error_string(code);
  if (reason != nullptr) reason_ = reason;
  plain_http_ = ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST;
  ERR_clear_error();
  // An end of the socket without close_notify may be anybody's: it is no end of what was said.
  const int os_error = os_error_ != 0 ? os_error_ : socket_ended_ ? ECONNRESET : EPROTO;
  return broken_ = {.status = IoStatus::error, .os_error = os_error};
}

Task<util::Result<void>> TlsStream::handshake(Deadline deadline, observe::Phase phase, util::Source source) {
  while (ssl_) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) {
      established_ = true;
      // What came behind the handshake is in OpenSSL's buffer: no edge will tell.
      readable_ = socket_readable_ || SSL_has_pending(ssl_.get()) == 1;
      co_return util::Result<void>{};
    }
    const IoResult result = trouble(done);
    if (result.status == IoStatus::want_read) readable_ = false;
    if (result.status == IoStatus::end || result.status == IoStatus::error) break;
    const WaitResult waited = co_await wanted(result.status, deadline, phase);
    if (waited != WaitResult::ready) co_return util::Failure(wait_error(waited, source, "TLS handshake"));
  }
  util::Error error = io_error(broken_, source, reason_.empty() ? std::string_view("TLS handshake") : reason_);
  if (broken_.os_error == EPROTO) error.kind = util::ErrorKind::protocol;
  if (broken_.os_error == ENOMEM) error.kind = util::ErrorKind::overload;
  if (client_ && ssl_) {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) error.detail = X509_verify_cert_error_string(verified);
  }
  co_return util::Failure(error);
}

std::shared_ptr<const TlsFacts> TlsStream::facts() const {
  return server_->facts(ssl_.get());
}

std::string_view TlsStream::protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

IoResult TlsStream::try_read(std::span<char> room) noexcept {
  if (!may_read()) return {.status = IoStatus::want_read};
  std::size_t total = 0;
  read_wants_write_ = false;
  while (total < room.size()) {
    if (broken_.status != IoStatus::done) break;
    std::size_t got = 0;
    ERR_clear_error();
    const int returned = SSL_read_ex(ssl_.get(), room.data() + total, room.size() - total, &got);
    if (returned == 1) {
      total += got;
      continue;
    }
    const IoResult result = trouble(returned);
    if (result.status == IoStatus::end || result.status == IoStatus::error) break;
    readable_ = socket_readable_ && result.status == IoStatus::want_read;
    read_wants_write_ = result.status == IoStatus::want_write;
    if (total == 0) return {.status = IoStatus::want_read};
    break;
  }
  if (total == 0) return broken_;
  note_moved(total);
  return {.bytes = total};
}

bool TlsStream::input_matters() noexcept {
  if (broken_.status != IoStatus::done) return true;
  char byte = 0;
  std::size_t got = 0;
  ERR_clear_error();
  const int returned = SSL_peek_ex(ssl_.get(), &byte, 1, &got);
  if (returned == 1) return true;
  const IoResult result = trouble(returned);
  if (result.status != IoStatus::want_read) return true;
  readable_ = socket_readable_;
  return socket_readable_;
}

IoResult TlsStream::write_record(const char* data, std::size_t size, std::size_t unreported, After after) noexcept {
  std::size_t put = 0;
  more_follows_ = after == After::record;
  ERR_clear_error();
  const int returned = SSL_write_ex(ssl_.get(), data, size, &put);
  if (returned == 1) {
    note_moved(size);
    return {.bytes = unreported};
  }
  const IoResult result = trouble(returned);
  if (result.status == IoStatus::end || result.status == IoStatus::error) {
    return {.status = IoStatus::error, .os_error = broken_.os_error != 0 ? broken_.os_error : EPIPE};
  }
  owed_ = size;
  owed_report_ = unreported;
  return {.status = IoStatus::want_write};
}

IoResult TlsStream::write_owed() noexcept {
  const std::size_t size = owed_;
  owed_ = 0;
  return write_record(kShown, size, owed_report_, After::nothing);
}

IoResult TlsStream::try_write(std::span<const iovec> pieces, More more) noexcept {
  if (!may_write()) return {.status = IoStatus::want_write};
  if (owed_ != 0) return write_owed();
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.iov_len;
  std::size_t reported = 0;
  std::size_t skip = 0;  // of the first piece
  while (reported < total || (stashed_ != 0 && more == More::no)) {
    while (!pieces.empty() && skip == pieces.front().iov_len) {
      pieces = pieces.subspan(1);
      skip = 0;
    }
    const char* data = nullptr;
    std::size_t size = 0;
    std::size_t fresh = 0;
    const std::size_t first = pieces.empty() ? 0 : pieces.front().iov_len - skip;
    const bool direct = stashed_ == 0 && (first >= kRecord || (first == total - reported && more == More::no));
    if (direct) {
      data = static_cast<const char*>(pieces.front().iov_base) + skip;
      size = fresh = std::min(first, kRecord);
      skip += fresh;
    } else {
      if (!stash_) stash_ = reactor_->chunks().take();
      if (!stash_) return {.status = IoStatus::error, .os_error = ENOBUFS};
      while (stashed_ < kRecord && !pieces.empty()) {
        const std::size_t take = std::min(pieces.front().iov_len - skip, kRecord - stashed_);
        std::memcpy(stash_.data() + stashed_, static_cast<const char*>(pieces.front().iov_base) + skip, take);
        stashed_ += take;
        fresh += take;
        skip += take;
        if (skip < pieces.front().iov_len) break;
        pieces = pieces.subspan(1);
        skip = 0;
      }
      if (stashed_ < kRecord && more == More::follows) return {.bytes = reported + fresh};
      data = stash_.data();
      size = std::exchange(stashed_, 0);
    }
    const bool again = reported + fresh < total || more == More::follows;
    const IoResult result = write_record(data, size, fresh, again ? After::record : After::nothing);
    if (result.status == IoStatus::error) return result;
    if (result.status != IoStatus::done) {
      stash_.reset();
      return reported > 0 ? IoResult{.bytes = reported} : result;
    }
    reported += fresh;
  }
  if (stashed_ == 0) stash_.reset();
  return {.bytes = reported};
}

IoResult TlsStream::try_send_file(int file, std::uint64_t offset, std::size_t count) noexcept {
  if (!may_write()) return {.status = IoStatus::want_write};
  if (owed_ != 0) return write_owed();
  if (!stash_) stash_ = reactor_->chunks().take();
  if (!stash_) return {.status = IoStatus::error, .os_error = ENOBUFS};
  std::size_t reported = 0;
  while (reported < count && !is_share_used()) {
    const std::size_t ask = std::min(kRecord - stashed_, count - reported);
    const ssize_t got = ::pread(file, stash_.data() + stashed_, ask, static_cast<off_t>(offset + reported));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {.status = IoStatus::error, .os_error = errno};
    if (got == 0) break;
    const auto fresh = static_cast<std::size_t>(got);
    const std::size_t size = std::exchange(stashed_, 0) + fresh;
    const bool again = reported + fresh < count;
    const IoResult result = write_record(stash_.data(), size, fresh, again ? After::record : After::nothing);
    if (result.status == IoStatus::error) return result;
    if (result.status != IoStatus::done) {
      stash_.reset();
      return reported > 0 ? IoResult{.bytes = reported} : result;
    }
    reported += fresh;
  }
  if (stashed_ == 0) stash_.reset();
  return {.bytes = reported};
}

}  // namespace pontage::net
