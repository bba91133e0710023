// A raw loopback client for the origin's tests: bytes out, bytes in, each wait bounded by a receive timeout. Test code
// only.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/util/unique_fd.h"

namespace pontage::origin::testing {

class Client {
 public:
  enum class End { none, fin, reset, silence };

  explicit Client(const std::string& address, int timeout_ms = 10'000) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const auto colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    patience(timeout_ms);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }

  bool connected() const { return connected_; }
  void patience(int timeout_ms) {
    const timeval limit{timeout_ms / 1000, (timeout_ms % 1000) * 1000};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void finish_sending() { ::shutdown(fd_.get(), SHUT_WR); }

  // One recv into the buffer; how it ended otherwise is in end().
  bool read_more() {
    char room[65536];
    const ssize_t n = ::recv(fd_.get(), room, sizeof room, 0);
    if (n > 0) {
      buffer_.append(room, static_cast<std::size_t>(n));
      return true;
    }
    end_ = n == 0 ? End::fin : errno == ECONNRESET ? End::reset : End::silence;
    return false;
  }
  // Exactly `count` bytes, or fewer at an end.
  std::string take(std::size_t count) {
    while (buffer_.size() < count && read_more()) {
    }
    return cut(std::min(count, buffer_.size()));
  }
  // Up to and with `mark`, or what came before an end.
  std::string take_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = buffer_.find(mark)) == std::string::npos) {
      if (!read_more()) return cut(buffer_.size());
    }
    return cut(at + mark.size());
  }
  // All there is until an end or silence.
  std::string take_rest() {
    while (read_more()) {
    }
    return cut(buffer_.size());
  }
  End end() const { return end_; }
  std::string cut(std::size_t count) {
    std::string front = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return front;
  }

  struct Reply {
    int status = 0;
    std::string head;
    std::string body;
    bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
  };
  // One HTTP response: head, and a body by Content-Length or chunks (whose framing is taken off). `bodiless` for HEAD.
  Reply reply(bool bodiless = false) {
    Reply got;
    got.head = take_until("\r\n\r\n");
    if (got.head.size() > 12) got.status = std::stoi(got.head.substr(9, 3));
    const auto length_at = got.head.find("Content-Length: ");
    if (bodiless || got.status < 200 || got.status == 204 || got.status == 304) return got;
    if (length_at != std::string::npos) {
      got.body = take(std::stoull(got.head.substr(length_at + 16)));
    } else if (got.has("Transfer-Encoding: chunked")) {
      for (;;) {
        const std::string line = take_until("\r\n");
        const auto size = line.empty() ? 0 : std::stoull(line, nullptr, 16);
        if (size == 0) break;
        got.body += take(size);
        take(2);
      }
      trailers_ = take_until("\r\n");
      while (trailers_.size() > 2 && !trailers_.ends_with("\r\n\r\n")) trailers_ += take_until("\r\n");
    } else {
      got.body = take_rest();
    }
    return got;
  }
  Reply get(const std::string& target, const std::string& fields = {}) {
    send("GET " + target + " HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n");
    return reply();
  }
  const std::string& trailers() const { return trailers_; }

 private:
  util::UniqueFd fd_;
  std::string buffer_;
  std::string trailers_;
  End end_ = End::none;
  bool connected_ = false;
};

}  // namespace pontage::origin::testing
