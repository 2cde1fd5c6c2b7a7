/// A named value that an app sets for a customer, such as a mail address or a favourite bird. The
/// value is not signed, so it never affects access, ownership or money.
package struct CustomerAttribute: Hashable, Sendable {
    /// A name that the app chose, or a reserved name, which begins with `$`.
    package var name: String
    /// Nil if the attribute was deleted. A deleted attribute stays stored, so that an older value
    /// that arrives later has no effect.
    package var value: String?
    /// When the value was set, by the clock of the author's device or server. Never ahead of the
    /// server's clock.
    package var updatedAt: Instant
    package var author: Author

    package enum Author: String, Hashable, Sendable, CaseIterable {
        /// A device, with an app key. Any user of the app can set such values for their own
        /// customer.
        case app
        /// The app's server, or a person of support, with a secret key.
        case server
    }

    package init(name: String, value: String?, updatedAt: Instant, author: Author) {
        self.name = name
        self.value = value
        self.updatedAt = updatedAt
        self.author = author
    }

    /// Whether this value wins over another value of the same attribute. The answer depends only on
    /// the two values, so the order in which they arrive does not matter. The later value wins; if
    /// both have the same time, the greater value wins. For a write-once attribute, the earlier or
    /// lesser value wins, but a deletion wins over any value. Otherwise a deletion could remove the
    /// value that had kept out another value, and the order would matter.
    package func outranks(_ other: Self) -> Bool {
        let (own, theirs) = (rank, other.rank)
        guard isWriteOnce, (value == nil) == (other.value == nil) else {
            return isWriteOnce ? value == nil : own > theirs
        }
        return value == nil ? own > theirs : own < theirs
    }

    private var rank: (Instant, String, Int) {
        (updatedAt, value ?? "", author == .server ? 1 : 0)
    }
}

// MARK: - Names

extension CustomerAttribute {
    /// The name of the attribute that contains the customer's mail address. Support can find the
    /// customer by this address.
    package static let mailAddress = "$email"
    /// Names with a special value: `true` asks the server to replace the value by data about the
    /// request.
    package static let requests: Set<String> = ["$ip", "$deviceVersion"]
    /// Names of attributes about the device, and about the advertisement that brought the customer.
    /// RevenueCat never changes such a value once it is set.
    private static let writeOnce: Set<String> = [
        "$idfa", "$idfv", "$mediaSource", "$campaign", "$adGroup", "$ad", "$keyword", "$creative",
    ]

    /// Whether the name begins with `$`. Its meaning is then the same in every app.
    package var isReserved: Bool { Self.isReserved(name) }
    package static func isReserved(_ name: String) -> Bool { name.hasPrefix("$") }

    /// Whether the first value stays, so that a later value does not replace it.
    package var isWriteOnce: Bool { Self.writeOnce.contains(name) }
}

// MARK: - Limits

extension CustomerAttribute {
    /// The maximum number of a customer's attributes with names that the app chose.
    package static let ownMax = 50
    /// The maximum number of a customer's attributes with reserved names.
    package static let reservedMax = 50
    /// The maximum number of deleted attributes that stay stored for a customer.
    package static let deletionsMax = 50
}

// MARK: - Several attributes

extension CustomerAttribute {
    /// The form of a mail address for comparisons: ASCII letters are in lower case.
    package static func comparable(mailAddress text: String) -> String {
        String(text.map { $0.isASCII ? Character($0.lowercased()) : $0 })
    }

    /// The attributes of a customer after a merge with another customer. If both have a value for a
    /// name, the value that outranks the other one stays. If there are more attributes than the
    /// limits allow, the latest stay.
    ///
    /// - Parameter keepsOwn: whether the first customer's values stay, however old they are. Then
    ///   the other customer adds only names that the first customer does not have, within the
    ///   limits.
    package static func merged(
        _ own: [CustomerAttribute], with other: [CustomerAttribute], keepsOwn: Bool
    ) -> [CustomerAttribute] {
        var all: [String: CustomerAttribute] = [:]
        for attribute in own { all[attribute.name] = attribute }
        for attribute in other {
            guard let known = all[attribute.name] else {
                all[attribute.name] = attribute
                continue
            }
            if !keepsOwn, attribute.outranks(known) { all[attribute.name] = attribute }
        }
        return limited(Array(all.values), first: keepsOwn ? Set(own.map(\.name)) : [])
    }

    /// The attributes that fit within the limits. Of each kind, the attributes with the given names
    /// are kept first, and then the latest.
    package static func limited(
        _ all: [CustomerAttribute], first: Set<String> = []
    ) -> [CustomerAttribute] {
        func order(_ attribute: CustomerAttribute) -> (Int, Instant, String) {
            (first.contains(attribute.name) ? 1 : 0, attribute.updatedAt, attribute.name)
        }
        let latest = all.sorted { order($0) > order($1) }
        let present = latest.filter { $0.value != nil }
        let kept =
            present.filter { !$0.isReserved }.prefix(ownMax)
            + present.filter(\.isReserved).prefix(reservedMax)
            + latest.filter { $0.value == nil }.prefix(deletionsMax)
        return kept.sorted { $0.name < $1.name }
    }
}
