import Ledger

/// A currency that the euro replaced. From the day of the changeover on, its rate is fixed
/// permanently by law (Council Regulations on the conversion rates between the euro and the
/// currencies of the Member States adopting the euro), and tables of rates no longer contain it.
package struct EuroChangeover: Hashable, Sendable {
    package static let euro = "EUR"
    private static let unit: Int64 = 1_000_000

    /// The first day on which the euro was the currency, counted from 1970-01-01.
    package let day: Int64
    /// The fixed rate: millionths of a unit of the former currency for one euro.
    package let millionths: Int64

    /// Finds the changeover of a currency. Returns nil for a currency that the euro has not
    /// replaced.
    package init?(_ currency: String) {
        guard let found = Self.all[currency] else { return nil }
        self = found
    }

    private init(_ day: Int64, _ millionths: Int64) {
        (self.day, self.millionths) = (day, millionths)
    }

    /// An amount of the former currency in euros, rounded to the nearest thousandth.
    func euros(_ amount: Int64) -> Int64 {
        let (whole, rest) = amount.magnitude.quotientAndRemainder(
            dividingBy: UInt64(millionths))
        let unit = UInt64(Self.unit)
        let part = (rest * unit + UInt64(millionths) / 2) / UInt64(millionths)
        let euros = Int64(clamping: whole * unit + part)
        return amount < 0 ? -euros : euros
    }

    /// The value of one euro in a currency, in millionths of the currency's unit. Nil if the value
    /// depends on a table of rates.
    static func rate(of currency: String, on day: Int64) -> Int64? {
        if currency == euro { return unit }
        return all[currency].flatMap { $0.day <= day ? $0.millionths : nil }
    }

    private static let all: [String: EuroChangeover] = {
        var all: [String: EuroChangeover] = [:]
        for (year, rates) in table {
            let day = CivilDate(year: year, month: 1, day: 1).dayNumber
            for (currency, millionths) in rates { all[currency] = Self(day, millionths) }
        }
        return all
    }()

    private static let table: [(year: Int64, rates: [String: Int64])] = [
        (
            1999,
            [
                "ATS": 13_760_300, "BEF": 40_339_900, "DEM": 1_955_830, "ESP": 166_386_000,
                "FIM": 5_945_730, "FRF": 6_559_570, "IEP": 787_564, "ITL": 1_936_270_000,
                "LUF": 40_339_900, "NLG": 2_203_710, "PTE": 200_482_000,
            ]
        ),
        (2001, ["GRD": 340_750_000]), (2007, ["SIT": 239_640_000]),
        (2008, ["CYP": 585_274, "MTL": 429_300]), (2009, ["SKK": 30_126_000]),
        (2011, ["EEK": 15_646_600]), (2014, ["LVL": 702_804]), (2015, ["LTL": 3_452_800]),
        (2023, ["HRK": 7_534_500]), (2026, ["BGN": 1_955_830]),
    ]
}
