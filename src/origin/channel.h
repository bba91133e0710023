// Channel: one request and the way back for its answer, whatever the protocol. The application (app.h) is written
// against it once; each protocol implements it (HTTP/1.1, AJP and the three that carry CGI variables). What is written
// is buffered and leaves when the session waits for anything, so a small answer is one send. Worker's thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/message/head.h"
#include "src/net/task.h"
#include "src/origin/json.h"
#include "src/util/error.h"

namespace pontage::origin {

using Done = util::Result<void>;

class Channel {
 public:
  struct Facts {
    std::string_view protocol;     // "http", "ajp", "fastcgi", "scgi", "uwsgi"
    std::uint64_t connection = 0;  // counted over the whole origin, from 1
    std::uint64_t request = 0;     // on that connection, from 1
  };

  // The request; with a protocol that does not say whether a body comes, its framing is `chunked` until it was read.
  virtual const message::RequestHead& request() const noexcept = 0;
  virtual Facts facts() const noexcept = 0;
  // What else the protocol told, as members of a JSON object. Never a secret.
  virtual void describe(Json& json) const = 0;
  // Memory of this request, and a string whose room is kept from one request to the next.
  virtual message::Arena& arena() noexcept = 0;
  virtual std::string& scratch() noexcept = 0;
  // The present time as an HTTP date; valid until the next wait.
  virtual std::string_view date() noexcept = 0;

  // Says that the body is wanted (100 Continue). read_body() implies it.
  virtual void invite_body() = 0;
  // The next piece of the body, empty at its end. Valid until the next read_body(), pause() or flush().
  virtual net::Task<util::Result<std::string_view>> read_body() = 0;
  // After the body's end.
  virtual const message::HeaderList& request_trailers() const noexcept = 0;

  // An interim response; dropped where the protocol has none. `fields` are whole lines with CRLF.
  virtual void interim(int status, std::string_view fields) = 0;
  // The answer's head, once. Its body must be exact, chunked or none; the channel does what the protocol and the method
  // ask for.
  virtual void begin(const message::ResponseHead& head) = 0;
  // Body bytes, buffered without bound: for small ones.
  virtual void write(std::string_view piece) = 0;
  // Body bytes of any number; waits while the peer takes none.
  virtual net::Task<Done> send(std::string_view piece) = 0;
  // Sends what is buffered, and asks whoever is in between to pass it on.
  virtual net::Task<Done> flush() = 0;
  // After the body. The views must live until the request has ended.
  virtual void trailer(std::string_view name, std::string_view value) = 0;
  // The connection ends after this answer, without looking at the rest of the request.
  virtual void end_connection() noexcept = 0;

  // Sends what is buffered, then waits.
  virtual net::Task<Done> pause(std::uint64_t milliseconds) = 0;
  // Does something wrong instead of answering. False: no such fault in this protocol, nothing was done.
  virtual net::Task<util::Result<bool>> fault(std::string_view kind) = 0;
  // The faults this protocol knows, for the answer to an unknown one.
  virtual void list_faults(Json& json) const = 0;

 protected:
  ~Channel() = default;
};

}  // namespace pontage::origin
