import PerennialContract

/// A product as the app on the phone shows it.
package struct PhoneProduct: Hashable, Sendable {
    package var id: String
    package var name: String
    /// The price, in thousandths of the currency's unit.
    package var milliunits: Int64
    package var currency: String
    /// The length of a subscription's period. Nil for a one-time product.
    package var period: PhonePeriod?
    package var isConsumable: Bool
    package var isFamilyShareable: Bool
    /// The length of a free trial for which the customer is eligible now.
    package var freeTrial: PhonePeriod?
    /// The wallet that the product credits, and by how much.
    package var wallet: String?
    /// The prices of seats, by ascending seat numbers. Empty if the product is not sold in seats.
    package var seatTiers: [SeatTier] = []

    package init(
        id: String, name: String, milliunits: Int64, currency: String, period: PhonePeriod? = nil,
        isConsumable: Bool = false, isFamilyShareable: Bool = false,
        freeTrial: PhonePeriod? = nil, wallet: String? = nil
    ) {
        self.id = id
        self.name = name
        self.milliunits = milliunits
        self.currency = currency
        self.period = period
        self.isConsumable = isConsumable
        self.isFamilyShareable = isFamilyShareable
        self.freeTrial = freeTrial
        self.wallet = wallet
    }

    var price: String { Figures.money(Money(milliunits: milliunits, currency: currency)) }

    /// The price of a month, in thousandths of the currency's unit; 0 for a one-time product.
    var monthlyMilliunits: Int64 { monthly(of: milliunits) }

    /// The part of a period's price that falls on a month.
    func monthly(of milliunits: Int64) -> Int64 {
        guard let period else { return 0 }
        return switch period.unit {
        case .day: milliunits * 365 / 12 / Int64(period.count)
        case .week: milliunits * 52 / 12 / Int64(period.count)
        case .month: milliunits / Int64(period.count)
        case .year: milliunits / 12 / Int64(period.count)
        }
    }
}

/// The length of a period, as the App Store counts it.
package struct PhonePeriod: Hashable, Sendable {
    package enum Unit: String, Hashable, Sendable {
        case day
        case week
        case month
        case year
    }

    package var unit: Unit
    /// The number of units, at least 1.
    package var count: Int

    package init(_ count: Int, _ unit: Unit) {
        self.unit = unit
        self.count = count
    }

    /// Reads a duration of ISO 8601 with one unit, such as `P1M`. Returns nil for anything else.
    package init?(iso text: String) {
        let units: [Character: Unit] = ["D": .day, "W": .week, "M": .month, "Y": .year]
        guard text.first == "P", let unit = text.last.flatMap({ units[$0] }),
            let count = Int(text.dropFirst().dropLast()), count > 0
        else { return nil }
        self.init(count, unit)
    }

    /// The name of a plan with this period, such as `Monthly`.
    var adverb: String {
        switch (count, unit) {
        case (1, .day): "Daily"
        case (1, .week): "Weekly"
        case (1, .month): "Monthly"
        case (1, .year): "Yearly"
        default: "Every \(length)"
        }
    }

    /// The text after “a” or “every”, such as `month` or `3 months`.
    var length: String { count == 1 ? unit.rawValue : "\(count) \(unit.rawValue)s" }
    /// How often something is paid, such as `a month`, `every 3 months`.
    var rate: String { count == 1 ? "a \(unit.rawValue)" : "every \(length)" }
    /// The length in words, such as `a week`, `3 days`.
    var span: String { count == 1 ? "a \(unit.rawValue)" : length }
}
