import Dashboard
import Testing

@Suite struct ChartUnitTests {
    private func text(_ value: Int64, _ currency: String = "USD") -> String {
        ChartUnit.money(currency: currency).text(value)
    }

    @Test func `an amount is rounded to the cent, and half a cent is rounded away from zero`() {
        #expect(text(119_906) == "$119.91")
        #expect(text(4_999) == "$5.00")
        #expect(text(4_994) == "$4.99")
        #expect(text(-4_995) == "−$5.00")
        #expect(text(0) == "$0.00")
        #expect(text(9_990) == "$9.99")
    }

    @Test func `each currency has its own number of decimals`() {
        #expect(text(9_900_499, "KRW") == "₩9,900")
        #expect(text(3_504, "KWD") == "KWD\u{A0}3.504")
        #expect(text(833_333, "JPY") == "¥833")
        #expect(text(4_500_000, "JPY") == "¥4,500")
    }

    @Test func `the largest amounts of money are formatted without an overflow`() {
        #expect(text(.max).hasPrefix("$9,223,372,036,854,775"))
        #expect(text(.min).hasPrefix("−$9,223,372,036,854,775"))
    }
}
