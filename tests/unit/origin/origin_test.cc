#include "src/origin/origin.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/origin/client.h"

namespace pontage::origin {
namespace {

using testing::Client;

TEST(Origin, BindsOneOfEachUnlessToldOtherwise) {
  const Origin origin;
  std::string lines;
  for (const auto protocol : {Protocol::http, Protocol::ajp, Protocol::fastcgi, Protocol::scgi, Protocol::uwsgi}) {
    lines += "origin: " + std::string(name_of(protocol)) + " " + origin.address_of(protocol) + "\n";
  }
  EXPECT_EQ(origin.lines(), lines);
  EXPECT_FALSE(origin.http_address().ends_with(":0"));
}

TEST(Origin, BindsOnlyWhatItIsTold) {
  OriginOptions options;
  options.http = {"127.0.0.1:0", "127.0.0.1:0"};
  const Origin origin(options);
  EXPECT_EQ(origin.listeners().size(), 2u);
  EXPECT_EQ(origin.ajp_address(), "");
}

TEST(Origin, SaysWhichAddressIsTaken) {
  const Origin first;
  OriginOptions options;
  options.http = {first.http_address()};
  try {
    const Origin second(options);
    FAIL() << "two on one address";
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find(first.http_address()), std::string::npos);
  }
  options.http = {"nonsense"};
  EXPECT_THROW(Origin{options}, std::runtime_error);
}

TEST(Origin, StopsWhileConnectionsAreBusy) {
  auto origin = std::make_unique<Origin>();
  Client idle(origin->http_address());
  EXPECT_EQ(idle.get("/bytes/1").body, "0");
  Client waiting(origin->http_address());
  waiting.send("GET /bytes/1?ms=60000 HTTP/1.1\r\nHost: t\r\n\r\n");
  Client full(origin->http_address());
  full.send("GET /bytes/1099511627776 HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(full.take(100'000).size(), 100'000u);
  Client uploading(origin->http_address());
  uploading.send("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\nabc");
  origin.reset();
  idle.take_rest();
  EXPECT_EQ(idle.end(), Client::End::fin);
  waiting.take_rest();
  EXPECT_NE(waiting.end(), Client::End::silence);
}

TEST(Origin, SurvivesClientsThatLeaveInTheMiddle) {
  Origin origin;
  for (int i = 0; i < 50; ++i) {
    Client client(origin.http_address());
    client.send("GET /bytes/100000000 HTTP/1.1\r\nHost: t\r\n\r\n");
    client.take(1000);
  }
  Client client(origin.http_address());
  EXPECT_EQ(client.get("/bytes/1").body, "0");
}

TEST(Origin, ServesOnSeveralThreadsWithOneCounter) {
  OriginOptions options;
  options.http = {"127.0.0.1:0"};
  options.threads = 3;
  Origin origin(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&origin] {
      for (int i = 0; i < 20; ++i) {
        Client client(origin.http_address());
        EXPECT_EQ(client.get("/counter?key=k").status, 200);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  Client client(origin.http_address());
  EXPECT_EQ(client.get("/counter?key=k&read=1").body, R"({"key":"k","count":80})");
}

TEST(Origin, ListensOnAUnixSocketAndRemovesIt) {
  char directory[] = "/tmp/pontage-origin-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/o.sock";
  {
    OriginOptions options;
    options.http = {"unix:" + path};
    options.threads = 2;
    const Origin origin(options);
    EXPECT_EQ(origin.http_address(), "unix:" + path);
    const util::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string_view request = "GET /bytes/3?close=1 HTTP/1.1\r\nHost: t\r\n\r\n";
    ASSERT_GT(::send(fd.get(), request.data(), request.size(), 0), 0);
    std::string got;
    char room[4096];
    for (ssize_t n = 0; (n = ::recv(fd.get(), room, sizeof room, 0)) > 0;)
      got.append(room, static_cast<std::size_t>(n));
    EXPECT_TRUE(got.ends_with("\r\n\r\n012"));
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ::rmdir(directory);
}

}  // namespace
}  // namespace pontage::origin
