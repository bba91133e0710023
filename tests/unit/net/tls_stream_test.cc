// TlsStream over a pair of sockets, both ends ours: handshake, records, files, ends.
#include "src/net/tls_stream.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "src/net/tls_client.h"
#include "src/net/tls_server.h"
#include "tests/unit/net/loop.h"
#include "tests/unit/net/sockets.h"

namespace pontage::net {
namespace {

using observe::Phase;
using testing::Loop;
using testing::make_pair;
using testing::Side;
using util::Source;

class TlsStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pontage-tls-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=a "
        "-addext subjectAltName=DNS:a.example,DNS:*.b.example -keyout " +
        (folder_ / "key.pem").string() + " -out " + (folder_ / "cert.pem").string() + " 2>&-";
    ASSERT_EQ(std::system(command.c_str()), 0);
    config::ListenerTls listener;
    listener.certificates.push_back({.cert = folder_ / "cert.pem", .key = folder_ / "key.pem"});
    const auto server = TlsServer::make(listener, "test", std::make_shared<TicketKeys>(86'400));
    ASSERT_TRUE(server) << server.error().text;
    server_ = *server;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<TlsClient> client(const std::string& host) {
    config::BackendTls towards;
    towards.ca = folder_ / "cert.pem";
    return *TlsClient::make(towards, host, 1);
  }

  std::filesystem::path folder_;
  std::shared_ptr<const TlsServer> server_;
};

Task<void> shake(TlsStream& stream, util::Result<void>& result) {
  result = co_await stream.handshake(stream.reactor().after(10'000), Phase::client, Source::client);
}

TEST_F(TlsStreams, CarryBytesAndFilesAndAnEnd) {
  Loop loop;
  auto pair = make_pair();
  TlsStream near(loop.reactor, std::move(pair.near), server_);
  auto far = std::make_unique<TlsStream>(loop.reactor, std::move(pair.far), client("a.example"));
  const util::UniqueFd file(::memfd_create("body", MFD_CLOEXEC));
  const std::string body(100'000, 'x');
  ASSERT_EQ(::write(file.get(), body.data(), body.size()), static_cast<ssize_t>(body.size()));
  util::Result<void> shaken;
  Side side(loop.reactor);
  auto scenario = [&]() -> Task<void> {
    side.start(shake(near, shaken));
    const auto done = co_await far->handshake(loop.reactor.after(10'000), Phase::client, Source::server);
    EXPECT_TRUE(done) << done.error().detail;
    while (!side.ended) co_await testing::turns(1);
    EXPECT_TRUE(shaken) << shaken.error().detail;
    EXPECT_EQ(near.facts()->server_name, "a.example");
    EXPECT_EQ(near.facts()->version, "TLSv1.3");
    char head[] = "head ";
    iovec piece{head, 5};
    EXPECT_EQ(near.try_write({&piece, 1}, More::follows).bytes, 5U);
    std::string got;
    std::size_t sent = 0;
    std::array<char, 16384> room{};
    while (got.size() < 5 + body.size()) {
      if (sent < body.size()) sent += near.try_send_file(file.get(), sent, body.size() - sent).bytes;
      const IoResult read = far->try_read(room);
      EXPECT_NE(read.status, IoStatus::error);
      if (read.status == IoStatus::error) co_return;
      got.append(room.data(), read.bytes);
      co_await testing::turns(1);
    }
    EXPECT_EQ(got, "head " + body);
    far.reset();
    const auto end = co_await read_some(near, room, loop.reactor.after(10'000), Phase::client, Source::client);
    EXPECT_TRUE(end && *end == 0);
  };
  loop.run(scenario());
}

TEST_F(TlsStreams, RefuseAServerOfAnotherName) {
  Loop loop;
  auto pair = make_pair();
  TlsStream near(loop.reactor, std::move(pair.near), server_);
  TlsStream far(loop.reactor, std::move(pair.far), client("other.example"));
  util::Result<void> shaken;
  Side side(loop.reactor);
  auto scenario = [&]() -> Task<void> {
    side.start(shake(near, shaken));
    const auto done = co_await far.handshake(loop.reactor.after(10'000), Phase::client, Source::server);
    EXPECT_FALSE(done);
    while (!side.ended) co_await testing::turns(1);
  };
  loop.run(scenario());
}

TEST_F(TlsStreams, KnowHttpWithoutTlsWhenTheyMeetIt) {
  Loop loop;
  auto pair = make_pair();
  TlsStream near(loop.reactor, std::move(pair.near), server_);
  testing::put(pair.far, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  auto scenario = [&]() -> Task<void> {
    const auto done = co_await near.handshake(loop.reactor.after(10'000), Phase::client, Source::client);
    EXPECT_FALSE(done);
    EXPECT_TRUE(near.met_plain_http());
  };
  loop.run(scenario());
}

TEST_F(TlsStreams, ShowACertificateForItsNamesOnly) {
  EXPECT_TRUE(server_->identities()[0].covers("a.example"));
  EXPECT_TRUE(server_->identities()[0].covers("x.b.example"));
  EXPECT_FALSE(server_->identities()[0].covers("x.y.b.example"));
  EXPECT_FALSE(server_->identities()[0].covers("b.example"));
}

}  // namespace
}  // namespace pontage::net
