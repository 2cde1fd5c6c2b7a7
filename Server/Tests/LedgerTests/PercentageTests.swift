import Ledger
import Testing

@Suite struct PercentageTests {
    @Test(
        arguments: [
            (nil, 990, 990), (100_000, 990, 990), (0, 990, 0), (-5, 990, 0), (250_000, 990, 990),
            (33_333, 100, 33), (50_000, 1, 0), (50_000, -3, -1), (25_500, 1000, 255),
            (100_000, .max, .max), (nil, .min, .min),
        ] as [(Int64?, Int64, Int64)])
    func `a share is at least zero and at most the whole amount`(
        thousandths: Int64?, amount: Int64, part: Int64
    ) {
        #expect(Percentage.part(thousandths, of: amount) == part)
    }

    @Test func `a share in thousandths is written as a percentage such as 25.5, and read back`() {
        for thousandths: Int64 in [0, 1, 25_500, 33_333, Percentage.whole] {
            let percent = Percentage.percent(thousandths)
            #expect(Percentage.thousandths(ofPercent: percent) == thousandths)
        }
        #expect(Percentage.percent(25_500) == 25.5)
        #expect(Percentage.percent(Percentage.whole) == 100)
    }
}
