#include "protocols/message/framing.h"

#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace pontage::message {
namespace {

using wire::DecodeError;
using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Framing : public testing::Test {
 protected:
  const HeaderList& list(Fields fields) {
    list_ = HeaderList(arena_);
    for (const auto& [name, value] : fields) list_.add(name, value);
    return list_;
  }
  auto request(Fields fields, Version version = kHttp11) { return request_framing(list(fields), version); }
  auto response(Fields fields, int status = 200, Method method = Method::get, Version version = kHttp11) {
    return response_framing(list(fields), version, status, method);
  }

  Arena arena_;
  HeaderList list_;
};

TEST_F(Framing, RequestWithoutFieldsHasNoBody) {
  EXPECT_EQ(*request({}), (BodyFraming{BodyKind::none, 0}));
  EXPECT_EQ(*request({{"Content-Length", "0"}}), (BodyFraming{BodyKind::none, 0}));
  EXPECT_EQ(*request({{"content-length", "12"}}), (BodyFraming{BodyKind::exact, 12}));
  EXPECT_EQ(*request({{"Content-Length", "12"}}, kHttp10), (BodyFraming{BodyKind::exact, 12}));
}

TEST_F(Framing, RequestChunkedIsOneFieldThatSaysSo) {
  EXPECT_EQ(request({{"Transfer-Encoding", "chunked"}})->kind, BodyKind::chunked);
  EXPECT_EQ(request({{"Transfer-Encoding", " Chunked\t "}})->kind, BodyKind::chunked);
}

TEST_F(Framing, RefusesEveryContentLengthThatCouldBeReadTwice) {
  for (const auto* value : {"", "5, 5", "+5", "-5", "5 5", "0x5", "9223372036854775808", "1e3", "\v5"}) {
    EXPECT_EQ(request({{"Content-Length", value}}).error(), DecodeError::bad_content_length) << value;
    EXPECT_EQ(response({{"Content-Length", value}}).error(), DecodeError::bad_content_length) << value;
  }
  EXPECT_EQ(request({{"Content-Length", "5"}, {"Content-Length", "5"}}).error(), DecodeError::bad_content_length);
  EXPECT_EQ(request({{"Content-Length", "0"}, {"content-length", "38"}}).error(), DecodeError::bad_content_length);
}

TEST_F(Framing, RefusesLengthTogetherWithTransferEncoding) {
  const auto expected = DecodeError::length_and_transfer_encoding;
  EXPECT_EQ(request({{"Content-Length", "0"}, {"Transfer-Encoding", "chunked"}}).error(), expected);
  EXPECT_EQ(request({{"Transfer-Encoding", "x"}, {"Content-Length", "z"}}).error(), expected);
  EXPECT_EQ(response({{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}).error(), expected);
}

TEST_F(Framing, RefusesEveryTransferEncodingButChunked) {
  for (const auto* value : {"", ",", "chunked, gzip", "chunked, chunked", "\vchunked", "chunked,", "x chunked",
                            "chunked;a=b", "\"chunked\""}) {
    EXPECT_EQ(request({{"Transfer-Encoding", value}}).error(), DecodeError::bad_transfer_encoding) << value;
  }
  for (const auto* value : {"gzip", "gzip, chunked", "blegh", "identity", "xchunked"}) {
    EXPECT_EQ(request({{"Transfer-Encoding", value}}).error(), DecodeError::unsupported_transfer_encoding) << value;
  }
  EXPECT_EQ(request({{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}).error(),
            DecodeError::bad_transfer_encoding);
}

TEST_F(Framing, RefusesTransferEncodingOnHttp10) {
  EXPECT_EQ(request({{"Transfer-Encoding", "chunked"}}, kHttp10).error(), DecodeError::bad_transfer_encoding);
  EXPECT_EQ(response({{"Transfer-Encoding", "chunked"}}, 200, Method::get, kHttp10).error(),
            DecodeError::bad_transfer_encoding);
}

TEST_F(Framing, ResponseEndsByChunksLengthOrClose) {
  EXPECT_EQ(response({{"Transfer-Encoding", "chunked"}})->kind, BodyKind::chunked);
  EXPECT_EQ(*response({{"Content-Length", "0"}}), (BodyFraming{BodyKind::exact, 0}));
  EXPECT_EQ(response({})->kind, BodyKind::until_close);
}

TEST_F(Framing, SomeResponsesNeverHaveABody) {
  for (const int status : {100, 103, 204, 304}) {
    EXPECT_EQ(response({{"Content-Length", "3"}}, status)->kind, BodyKind::none) << status;
    EXPECT_EQ(response({{"Transfer-Encoding", "chunked"}}, status)->kind, BodyKind::none) << status;
    EXPECT_EQ(response({{"Content-Length", "x"}}, status).error(), DecodeError::bad_content_length) << status;
  }
  EXPECT_EQ(response({{"Content-Length", "5"}}, 200, Method::head)->kind, BodyKind::none);
  EXPECT_EQ(response({{"Transfer-Encoding", "chunked"}}, 200, Method::head)->kind, BodyKind::none);
  EXPECT_EQ(response({{"Transfer-Encoding", "chunked"}}, 200, Method::connect)->kind, BodyKind::none);
  EXPECT_EQ(response({}, 403, Method::connect)->kind, BodyKind::until_close);
}

}  // namespace
}  // namespace pontage::message
