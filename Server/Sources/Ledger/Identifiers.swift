/// An identifier that is text. Each kind has a separate type, so that they cannot be confused. Two
/// identifiers are equal if their bytes are equal, as in a database: Swift's own comparison treats
/// a precomposed `é` and `e` with a combining accent as equal.
package protocol TextIdentifier: RawRepresentable<String>, Hashable, Comparable, Sendable,
    CustomStringConvertible, ExpressibleByStringLiteral
{
    init(rawValue: String)
}

extension TextIdentifier {
    package init(stringLiteral value: String) { self.init(rawValue: value) }
    package var description: String { rawValue }

    package static func == (one: Self, other: Self) -> Bool {
        var (mine, others) = (one.rawValue, other.rawValue)
        return mine.withUTF8 { mine in
            others.withUTF8 { mine.count == $0.count && mine.elementsEqual($0) }
        }
    }

    package static func < (one: Self, other: Self) -> Bool {
        one.rawValue.utf8.lexicographicallyPrecedes(other.rawValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// An app, by its name in the configuration.
package struct AppID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A product, by the App Store's name for it.
package struct ProductID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// An entitlement that products give, such as `pro`.
package struct EntitlementID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One payment, by the App Store's number.
package struct TransactionID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A customer, by a name that the app chooses. Several names may identify the same customer.
package struct CustomerID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A document, by the hexadecimal SHA-256 of its bytes.
package struct DocumentID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// Where a purchase was made. Sandbox purchases cost nothing and never give production access.
package enum Environment: String, Hashable, Sendable, CaseIterable {
    case production
    case sandbox
}

/// Identifies a product that was bought once, or a chain of renewals: by the number of its first
/// transaction, and by the environment.
package struct PurchaseID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var environment: Environment
    package var original: TransactionID

    package init(_ original: TransactionID, in environment: Environment) {
        self.environment = environment
        self.original = original
    }

    package var description: String { "\(environment.rawValue):\(original)" }

    package static func < (one: Self, other: Self) -> Bool {
        (one.environment.rawValue, one.original) < (other.environment.rawValue, other.original)
    }
}

/// An amount in thousandths of its currency's unit. Amounts in different currencies are never
/// added.
package struct Money: Hashable, Sendable {
    package var milliunits: Int64
    /// The currency's code, as in ISO 4217.
    package var currency: String

    package init(milliunits: Int64, currency: String) {
        self.milliunits = milliunits
        self.currency = currency
    }
}
