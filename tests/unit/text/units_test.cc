#include "text/units.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace weft::lab {
namespace {

constexpr Quantity kAll[] = {Quantity::kBitRate,     Quantity::kLength,        Quantity::kSize,
                             Quantity::kTime,        Quantity::kProbability,   Quantity::kPackets,
                             Quantity::kMessageRate, Quantity::kDelayPerLength};

TEST(Units, ReadsNumbersWithUnits) {
  struct Case {
    const char* text;
    Quantity quantity;
    std::int64_t value;
  };
  const Case cases[] = {
      {"25 Gbps", Quantity::kBitRate, 25'000'000'000},
      {"25Gbps", Quantity::kBitRate, 25'000'000'000},
      {"100 Gb/s", Quantity::kBitRate, 100'000'000'000},
      {"0.5 Gbps", Quantity::kBitRate, 500'000'000},
      {"3 m", Quantity::kLength, 3000},
      {"2.5 m", Quantity::kLength, 2500},
      {"50 cm", Quantity::kLength, 500},
      {"4200 B", Quantity::kSize, 4200},
      {"64 KiB", Quantity::kSize, 65536},
      {"1.5 KiB", Quantity::kSize, 1536},
      {"1 MB", Quantity::kSize, 1'000'000},
      {"1 us", Quantity::kTime, 1'000'000},
      {"1 µs", Quantity::kTime, 1'000'000},
      {"1.5 ms", Quantity::kTime, 1'500'000'000},
      {"150 ns", Quantity::kTime, 150'000},
      {"0.001 ns", Quantity::kTime, 1},
      {"0 s", Quantity::kTime, 0},
      {"10 %", Quantity::kProbability, 100'000'000},
      {"0.0000001 %", Quantity::kProbability, 1},
      {"1 ppm", Quantity::kProbability, 1000},
      {"29 packets", Quantity::kPackets, 29},
      {"1 packet", Quantity::kPackets, 1},
      {"75 Mmsg/s", Quantity::kMessageRate, 75'000'000},
      {"4.9 ns/m", Quantity::kDelayPerLength, 4900},
      {"106 s", Quantity::kTime, 106'000'000'000'000},
  };
  for (const Case& c : cases) {
    const auto value = parse_quantity(c.text, c.quantity);
    ASSERT_TRUE(value.has_value()) << c.text << ": " << value.error().message;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

// 0.1 and 0.2 have no exact double; 0.3 ns is 300 ps all the same.
TEST(Units, DecimalsAreExact) {
  EXPECT_EQ(parse_quantity("0.1 ns", Quantity::kTime).value() + parse_quantity("0.2 ns", Quantity::kTime).value(),
            parse_quantity("0.3 ns", Quantity::kTime).value());
  EXPECT_EQ(parse_quantity("9223372.036854775807 s", Quantity::kTime).has_value(), false);  // 19 digits
  EXPECT_EQ(parse_quantity("9223372036854.775 us", Quantity::kTime).value(), 9'223'372'036'854'775'000);
}

TEST(Units, RejectsWithRemedy) {
  struct Case {
    const char* text;
    Quantity quantity;
    const char* message;
    const char* remedy;
  };
  const Case cases[] = {
      {"4200", Quantity::kSize, "\"4200\" has no unit",
       "write a number and a unit, e.g. 4200 B (B, KiB, MiB, GiB, kB, MB, GB)"},
      {"4200 ", Quantity::kSize, "\"4200 \" has no unit",
       "write a number and a unit, e.g. 4200 B (B, KiB, MiB, GiB, kB, MB, GB)"},
      {"64 KB", Quantity::kSize, "\"KB\" is not a unit that fits here", "write KiB (1024 B) or kB (1000 B)"},
      {"25 gbps", Quantity::kBitRate, "\"gbps\" is not a unit that fits here", "write Gbps: units are case-sensitive"},
      {"25 G", Quantity::kBitRate, "\"G\" is not a unit that fits here", "write Gbps"},
      {"3 GB/s", Quantity::kBitRate, "\"GB/s\" is not a unit that fits here",
       "rates of links are in bits: write Gbps (8 Gbps = 1 GB/s)"},
      {"3 m", Quantity::kTime, "\"m\" is not a unit that fits here", "use one of ps, ns, us, ms, s, µs"},
      {"3  m", Quantity::kLength, "\" m\" is not a unit that fits here", "use one of mm, cm, m, km"},
      {"-3 m", Quantity::kLength, "\"-3 m\" is negative", "write a number and a unit, e.g. 3 m (mm, cm, m, km)"},
      {"010 m", Quantity::kLength, "\"010\" looks octal: YAML 1.1 reads 010 as 8",
       "write the decimal number without leading zeros"},
      {"0x10 B", Quantity::kSize, "\"0x10\" is not a decimal number", "write it in decimal"},
      {"1:30 s", Quantity::kTime, "\"1:30\" looks sexagesimal: YAML 1.1 reads 1:30 as 90",
       "write a plain decimal number"},
      {"1_000 B", Quantity::kSize, "\"1_000\" has underscores", "write the digits without separators"},
      {"1.5 B", Quantity::kSize, "\"1.5 B\" is finer than 1 B", "round it"},
      {"1. m", Quantity::kLength, "\"1. m\" does not start with a plain number",
       "write a number and a unit, e.g. 3 m (mm, cm, m, km)"},
      {".5 m", Quantity::kLength, "\".5 m\" does not start with a plain number",
       "write a number and a unit, e.g. 3 m (mm, cm, m, km)"},
      {"1e3 m", Quantity::kLength, "\"e3 m\" is not a unit that fits here", "use one of mm, cm, m, km"},
      {"", Quantity::kLength, "\"\" does not start with a plain number",
       "write a number and a unit, e.g. 3 m (mm, cm, m, km)"},
      {"999999999 s", Quantity::kTime, "\"999999999 s\" is too large", "write a smaller number"},
  };
  for (const Case& c : cases) {
    const auto value = parse_quantity(c.text, c.quantity);
    ASSERT_FALSE(value.has_value()) << c.text;
    EXPECT_EQ(value.error().message, c.message);
    EXPECT_EQ(value.error().remedy, c.remedy);
  }
}

TEST(Units, AcceptsEveryUnit) {
  for (Quantity quantity : kAll) {
    for (const Unit& unit : units_of(quantity)) {
      const auto value = parse_quantity("7 " + std::string(unit.name), quantity);
      ASSERT_TRUE(value.has_value()) << unit.name;
      EXPECT_EQ(*value, 7 * unit.scale) << unit.name;
      EXPECT_NE(accepted_units(quantity).find(unit.name), std::string::npos);
    }
  }
}

TEST(Units, Formats) {
  EXPECT_EQ(format_quantity(25'000'000'000, Quantity::kBitRate), "25 Gbps");
  EXPECT_EQ(format_quantity(2'500'000'000, Quantity::kBitRate), "2.5 Gbps");
  EXPECT_EQ(format_quantity(65536, Quantity::kSize), "64 KiB");
  EXPECT_EQ(format_quantity(9978, Quantity::kSize), "9978 B");
  EXPECT_EQ(format_quantity(1500, Quantity::kTime), "1.5 ns");
  EXPECT_EQ(format_quantity(0, Quantity::kTime), "0 ps");
  EXPECT_EQ(format_quantity(5000, Quantity::kLength), "5 m");
}

TEST(Units, FormattedValuesRoundTrip) {
  EXPECT_TRUE(rc::check([] {
    const Quantity quantity = *rc::gen::elementOf(std::vector<Quantity>(std::begin(kAll), std::end(kAll)));
    // Up to 15 digits, so that format_quantity's text stays below the reader's 18.
    const auto value = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
    RC_ASSERT(parse_quantity(format_quantity(value, quantity), quantity).value() == value);
  }));
}

TEST(Units, WholeNumbers) {
  EXPECT_EQ(parse_unsigned("0").value(), 0U);
  EXPECT_EQ(parse_unsigned("18446744073709551615").value(), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "-1", "+1", "1.0", "010", "0x10", "0b1", "0o7", "1:30", "1_0", "1e3", " 1", "1 ",
                           "18446744073709551616", "yes", "16 B"}) {
    EXPECT_FALSE(parse_unsigned(text).has_value()) << text;
  }
}

TEST(Units, Numbers) {
  EXPECT_EQ(parse_number("24.5").value(), 24.5);
  EXPECT_EQ(parse_number("1e-12").value(), 1e-12);
  EXPECT_EQ(parse_number("-3").value(), -3);
  for (const char* text : {"", ".5", "010", "-010", "0x1p3", "1:30", "inf", "nan", "-inf", "1e999", "24,5", "1.5 us"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

TEST(Units, Booleans) {
  EXPECT_TRUE(parse_bool("true").value());
  EXPECT_FALSE(parse_bool("false").value());
  for (const char* text : {"yes", "No", "ON", "off", "y", "N"}) {
    ASSERT_FALSE(parse_bool(text).has_value()) << text;
    EXPECT_NE(parse_bool(text).error().message.find("boolean only in YAML 1.1"), std::string::npos);
    EXPECT_EQ(parse_bool(text).error().remedy, "write true or false");
  }
  for (const char* text : {"", "True", "1", "maybe"}) EXPECT_FALSE(parse_bool(text).has_value()) << text;
}

}  // namespace
}  // namespace weft::lab
