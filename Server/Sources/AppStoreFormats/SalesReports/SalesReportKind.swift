/// The reports that can be read, by Apple's name for their type.
package enum SalesReportKind: String, Hashable, Sendable, CaseIterable {
    case sales = "SALES"
    case subscription = "SUBSCRIPTION"
    case subscriptionEvent = "SUBSCRIPTION_EVENT"
    case subscriber = "SUBSCRIBER"
    case offerCodeRedemption = "SUBSCRIPTION_OFFER_CODE_REDEMPTION"
    case preOrder = "PRE_ORDER"
    case financial = "FINANCIAL"

    /// Whether files of a version of this report can be read.
    package func canRead(_ version: SalesReportVersion) -> Bool {
        switch self {
        case .sales: SalesRow.canRead(version)
        case .subscription: SubscriptionRow.canRead(version)
        case .subscriptionEvent: SubscriptionEventRow.canRead(version)
        case .subscriber: SubscriberRow.canRead(version)
        case .offerCodeRedemption: OfferCodeRedemptionRow.canRead(version)
        case .preOrder: PreOrderRow.canRead(version)
        case .financial: FinancialRow.canRead(version)
        }
    }
}

/// The version of a report's columns, which Apple writes as `1_3`.
package struct SalesReportVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var major: Int
    package var minor: Int

    package init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Parses Apple's spelling, such as `1_3`. Returns nil for any other text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ (1...Self.digitsMax).contains($0.utf8.count) }),
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) }),
            let major = Int(parts[0]), let minor = Int(parts[1])
        else { return nil }
        self.init(major, minor)
    }

    private static let digitsMax = 4

    package var description: String { "\(major)_\(minor)" }

    package static func < (one: Self, other: Self) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}

/// How the cells of a file are separated.
package enum SalesReportForm: Hashable, Sendable {
    /// Apple's own form: tabs, no quotation marks, column names such as `Event Date`.
    case tabs
    /// The form of data loaders: commas, quotation marks as in RFC 4180, column names such as
    /// `event_date`.
    case commas

    var separator: UInt8 { self == .tabs ? UInt8(ascii: "\t") : UInt8(ascii: ",") }

    /// The name of a column in this form.
    func spelling(_ name: String) -> String {
        self == .tabs ? name : SalesReportLayout.key(name)
    }
}

/// The columns of one version of a report, in Apple's order.
package struct SalesReportLayout: Hashable, Sendable {
    package let version: SalesReportVersion
    package let header: [String]
    /// The names in the form in which they are compared.
    let keys: [String]
    /// The number of columns that every file has. Files of earlier years have no columns after
    /// these.
    let requiredCount: Int

    /// - Parameters:
    ///   - names: the columns' names, separated by `", "`, which no name contains.
    ///   - later: the names of further columns at the end, which files of earlier years lack.
    init(_ version: SalesReportVersion, _ names: String, later: String = "") {
        let required = names.split(separator: ", ").map(String.init)
        let added = later.split(separator: ", ").map(String.init)
        self.init(version, header: required + added, requiredCount: required.count)
    }

    private init(_ version: SalesReportVersion, header: [String], requiredCount: Int) {
        self.version = version
        self.header = header
        self.requiredCount = requiredCount
        keys = header.map(Self.key)
    }

    /// These columns with further columns at the end, as another version.
    func adding(_ names: String, version: SalesReportVersion) -> Self {
        let header = header + names.split(separator: ", ").map(String.init)
        return Self(version, header: header, requiredCount: header.count)
    }

    /// The form in which the names of columns are compared: lower case, with one underscore for
    /// each run of characters other than letters and digits. `Marketing Opt-Ins` and
    /// `marketing_opt_ins` have the same form.
    static func key(_ name: String) -> String {
        let underscore = UInt8(ascii: "_")
        var key: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): key.append(byte | 0x20)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                0x80...:
                key.append(byte)
            default: if key.last != underscore { key.append(underscore) }
            }
        }
        return String(decoding: key, as: UTF8.self)
    }
}
