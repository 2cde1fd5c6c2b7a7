import AppStoreFormats
import Foundation

/// What the App Store knows about the developer's agreement: the vendor, the time zone of reports,
/// and the developer's share of a price.
package struct ReportRules: Hashable, Sendable {
    /// Maximum sales tax, in thousandths of a percent.
    package static let taxMax: Int64 = 100_000

    package var vendorNumber = "80000001"
    /// The time zone in which the days of sales reports begin and end.
    package var timeZone = "America/Los_Angeles"
    /// Whether the developer is in the App Store Small Business Program at all times.
    package var isSmallBusiness = false
    /// The time for which the developer is in the program. Has no effect if ``isSmallBusiness`` is
    /// true.
    package var smallBusinessTime: Range<AppStoreDate>?
    /// Sales tax in thousandths of a percent of the price without tax, by storefront (alpha-3).
    package var taxes: [String: Int64] = [:]

    package init() {}

    var calendar: ReportCalendar {
        guard let zone = TimeZone(identifier: timeZone) else {
            preconditionFailure("The time zone \(timeZone) is missing: install tzdata.")
        }
        return ReportCalendar(zone: zone)
    }

    // MARK: - Proceeds

    /// Apple's normal share of a price without tax, in thousandths of a percent.
    static let standardShare: Int64 = 30_000
    /// Apple's reduced share of a price without tax, in thousandths of a percent.
    static let reducedShare: Int64 = 15_000
    private static let whole: Int64 = 100_000

    /// The developer's part of a price, in thousandths of the currency's unit. First the tax is
    /// subtracted from the price, then Apple's share of the rest; each is rounded down.
    ///
    /// - Parameter moment: when the paid period begins.
    func proceeds(
        of price: Int64, in storefront: Storefront, isReduced: Bool, at moment: AppStoreDate
    ) -> Int64 {
        let rest = price - tax(in: price, storefront)
        let isLow = isReduced || isMember(at: moment)
        return rest
            - Self.part(rest, isLow ? Self.reducedShare : Self.standardShare, of: Self.whole)
    }

    /// The sales tax that a price contains.
    func tax(in price: Int64, _ storefront: Storefront) -> Int64 {
        let rate = taxes[storefront.country] ?? 0
        return Self.part(price, rate, of: Self.whole + rate)
    }

    func isMember(at moment: AppStoreDate) -> Bool {
        isSmallBusiness || smallBusinessTime?.contains(moment) == true
    }

    /// A share of an amount, rounded down. Computed in 128 bits, because a product of large prices
    /// does not fit in 64 bits.
    private static func part(_ amount: Int64, _ share: Int64, of whole: Int64) -> Int64 {
        let product = amount.multipliedFullWidth(by: share)
        return whole.dividingFullWidth(product).quotient
    }
}

extension SimulatorSettings {
    static let reportFields = [
        SimulatorRoute.Field(
            "reports", "object",
            "{vendor_number, time_zone, small_business, small_business_from, small_business_until, "
                + "taxes: {DEU: \"19\"}} of Apple's reports.")
    ]

    mutating func readReports(_ body: RequestBody) throws(SimulatorProblem) {
        guard let json = body.value("reports") else { return }
        let known = [
            "vendor_number", "time_zone", "small_business", "small_business_from",
            "small_business_until", "taxes",
        ]
        let fields = try RequestBody(json, known: known, place: "reports")
        if let number = try fields.string("vendor_number") {
            let isNumber = number.utf8.allSatisfy { (0x30...0x39).contains($0) }
            guard isNumber, number.utf8.count <= SalesReportRequest.vendorDigitsMax else {
                throw RequestBody.invalidField("reports.vendor_number", "a text of digits")
            }
            reports.vendorNumber = number
        }
        if let zone = try fields.string("time_zone") {
            guard TimeZone(identifier: zone) != nil else {
                throw RequestBody.invalidField(
                    "reports.time_zone", "a time zone such as America/Los_Angeles")
            }
            reports.timeZone = zone
        }
        reports.isSmallBusiness = try fields.bool("small_business") ?? reports.isSmallBusiness
        try reports.readMembership(fields)
        if let taxes = fields.value("taxes") { reports.taxes = try Self.taxes(taxes) }
    }

    private static func taxes(_ json: JSON) throws(SimulatorProblem) -> [String: Int64] {
        var taxes: [String: Int64] = [:]
        for member in try RequestBody.members(of: json, "reports.taxes") {
            guard Storefront.named(member.key) != nil else { throw .unknownStorefront(member.key) }
            guard let text = member.value.string, let rate = StoreKitFile.milliunits(text),
                (0...ReportRules.taxMax).contains(rate)
            else {
                throw RequestBody.invalidField(
                    "reports.taxes.\(member.key)", "percent as a text, such as \"19\" or \"8.1\"")
            }
            taxes[member.key] = rate
        }
        return taxes
    }
}

extension ReportRules {
    fileprivate mutating func readMembership(_ fields: RequestBody) throws(SimulatorProblem) {
        guard let from = try fields.time("small_business_from") else { return }
        let until = try fields.time("small_business_until") ?? AppStoreDate(milliseconds: .max)
        guard from < until else {
            throw RequestBody.invalidField(
                "reports.small_business_until", "a moment after small_business_from")
        }
        smallBusinessTime = from..<until
    }
}

extension RequestBody {
    fileprivate static func members(
        of json: JSON, _ field: String
    ) throws(SimulatorProblem) -> [JSON.Member] {
        guard let members = json.members else { throw invalidField(field, "an object") }
        return members
    }
}
