internal import AccessRules
internal import Foundation
internal import PerennialContract

extension Offerings {
    /// The maximum number of months, which is more than any server accepts. Within this limit, no
    /// end of a term or of access overflows.
    fileprivate static let monthsMax = 12_000
    fileprivate static let daysMax = 400_000
    private static let hoursMax = 100_000

    /// Parses offerings. Returns nil if the JSON does not contain offerings, or contains an
    /// impossible length of time.
    init?(json: Data) {
        guard let offerings = try? JSONDecoder().decode(Self.self, from: json),
            (0...Self.hoursMax).contains(offerings.unconfirmedHoldHours),
            offerings.products.compactMap(\.term).allSatisfy(\.isPossible)
        else { return nil }
        self = offerings
    }
}

extension Offerings.Term {
    fileprivate var isPossible: Bool {
        (0...Offerings.monthsMax).contains(months) && (0...Offerings.daysMax).contains(days)
            && (0...Offerings.daysMax).contains(bonusDays)
    }
}

extension TermRules {
    /// The rules in the offerings. If this system does not know their time zone, days are counted
    /// in UTC: an end that is wrong by some hours is better than no end.
    init(_ offerings: Offerings) {
        let products = offerings.products.compactMap { product in
            product.term.map { term in
                let days = term.days + term.bonusDays
                return (
                    product.productID,
                    Length(months: term.months, days: days, chain: term.chain)
                )
            }
        }
        self.init(
            products: Dictionary(products) { first, _ in first },
            clock: TimeZone(identifier: offerings.timeZone).map { WallClock($0) } ?? .utc,
            isExtending: offerings.overlap == "extend")
    }
}

extension WallClock {
    init(_ zone: TimeZone) {
        self.init { moment in
            let seconds = Double(moment.milliseconds) / 1000
            return zone.secondsFromGMT(for: Date(timeIntervalSince1970: seconds))
        }
    }
}
