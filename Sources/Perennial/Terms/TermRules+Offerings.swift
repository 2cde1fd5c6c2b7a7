internal import AccessRules
internal import Foundation
internal import PerennialContract

extension TermRules {
    /// The rules that the offerings contain. If this system does not know their time zone, days
    /// are counted in UTC: an end that is wrong by hours is better than none.
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
