#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

TEST_CASE("passes", "[group]") { REQUIRE(1 == 1); }

TEST_CASE("fails") {
  INFO("expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本");
  CHECK(1 == 2);
  CHECK(2 == 3);
}

TEST_CASE("throws") { throw std::runtime_error("thrown & <lost>"); }
