/// The reports that are read and written here, by Apple's name for the type.
package enum SalesReportKind: String, Hashable, Sendable, CaseIterable {
    case sales = "SALES"
    case subscription = "SUBSCRIPTION"
    case subscriptionEvent = "SUBSCRIPTION_EVENT"
    case subscriber = "SUBSCRIBER"
    case offerCodeRedemption = "SUBSCRIPTION_OFFER_CODE_REDEMPTION"
    case preOrder = "PRE_ORDER"
    case financial = "FINANCIAL"
}

/// The version of a report's columns, which Apple writes as `1_3`.
package struct SalesReportVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var major: Int
    package var minor: Int

    package init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    package var description: String { "\(major)_\(minor)" }

    package static func < (one: Self, other: Self) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}

/// How the cells of a file are separated.
package enum SalesReportForm: Hashable, Sendable {
    /// Apple's own form: tabs, no quoting, columns named as in `Event Date`.
    case tabs
    /// The form of data loaders: commas, quoting as in RFC 4180, columns named as in `event_date`.
    case commas

    var separator: UInt8 { self == .tabs ? UInt8(ascii: "\t") : UInt8(ascii: ",") }

    /// A column's name in this form.
    func spelling(_ name: String) -> String {
        self == .tabs ? name : SalesReportLayout.key(name)
    }
}

/// The columns of one version of a report, in Apple's order.
package struct SalesReportLayout: Hashable, Sendable {
    package let version: SalesReportVersion
    package let header: [String]
    /// The names as they are compared.
    let keys: [String]

    /// - Parameter names: the columns' names, separated by `", "`, which is in no name.
    init(_ version: SalesReportVersion, _ names: String) {
        self.init(version, header: names.split(separator: ", ").map(String.init))
    }

    private init(_ version: SalesReportVersion, header: [String]) {
        self.version = version
        self.header = header
        keys = header.map(Self.key)
    }

    /// These columns, and more at the end.
    func adding(_ names: String, version: SalesReportVersion) -> Self {
        Self(version, header: header + names.split(separator: ", ").map(String.init))
    }

    /// The form of a name in which columns are compared: lower case, with one underscore for
    /// whatever is no letter or digit. `Marketing Opt-Ins` and `marketing_opt_ins` are equal in it.
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
