/// What an app says about a customer under a name, such as a mail address or a favourite bird.
/// Nobody has signed it, so it never decides about access, ownership or money.
package struct CustomerAttribute: Hashable, Sendable {
    /// A name of the app's own, or a reserved one, which begins with `$`.
    package var name: String
    /// Nil if the attribute was deleted. The deletion is remembered, so that an older value that
    /// arrives later does not return.
    package var value: String?
    /// When the value was set, by the clock of whoever set it. Never ahead of the server's clock.
    package var updatedAt: Instant
    package var author: Author

    package enum Author: String, Hashable, Sendable, CaseIterable {
        /// A device, with an app key. Anybody who has the app can say this about their own
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

    /// Whether this value stays if both are known. The answer depends only on the two values, so
    /// the order in which they arrive does not matter: the later one stays, and of two of one
    /// moment the greater one. Of two values of a write-once attribute, the earlier or lesser one
    /// stays; a deletion of such an attribute stays beside any value. Otherwise a deletion could
    /// remove the value that had kept out another one, and the order would matter.
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
    /// The name of the customer's mail address, by which support finds the customer.
    package static let mailAddress = "$email"
    /// A name whose value `true` asks the server to fill in something about the request.
    package static let requests: Set<String> = ["$ip", "$deviceVersion"]
    /// Names of devices and of advertisements that brought the customer. RevenueCat never changes
    /// such a value once it is set.
    private static let writeOnce: Set<String> = [
        "$idfa", "$idfv", "$mediaSource", "$campaign", "$adGroup", "$ad", "$keyword", "$creative",
    ]
    private static let consentName = "$attConsentStatus"
    private static let consents: Set<String> = [
        "restricted", "denied", "authorized", "notDetermined",
    ]

    /// Whether the name begins with `$`. Its meaning is then the same in every app.
    package var isReserved: Bool { Self.isReserved(name) }
    package static func isReserved(_ name: String) -> Bool { name.hasPrefix("$") }

    private var isWriteOnce: Bool { Self.writeOnce.contains(name) }
}

// MARK: - Limits

extension CustomerAttribute {
    /// The maximum length of a name, in characters (all of ASCII).
    package static let nameCharactersMax = 40
    /// The maximum length of a value, in Unicode scalars.
    package static let valueCharactersMax = 500
    /// The maximum number of a customer's attributes with names of the app's own.
    package static let ownMax = 50
    /// The maximum number of a customer's attributes with reserved names.
    package static let reservedMax = 50
    /// The maximum number of deletions that are remembered for a customer.
    package static let deletionsMax = 50
    /// The maximum number of attributes in one request.
    package static let changesMax = 100

    /// Why an attribute cannot be stored, as a sentence. Returns nil if it can.
    package static func defect(of name: String, _ value: String?) -> String? {
        guard isWellFormed(name) else {
            return "A name has 1 to \(nameCharactersMax) characters: first a letter, or `$` and a "
                + "letter, then letters, digits, `_` and `-`."
        }
        guard let value else { return nil }
        guard value.unicodeScalars.count <= valueCharactersMax else {
            return "A value has at most \(valueCharactersMax) characters."
        }
        switch name {
        case mailAddress: return isMailAddress(value) ? nil : "The value is not a mail address."
        case consentName:
            return consents.contains(value)
                ? nil : "The value must be one of \(consents.sorted().joined(separator: ", "))."
        default: return nil
        }
    }

    private static func isWellFormed(_ name: String) -> Bool {
        guard name.utf8.count <= nameCharactersMax, name.utf8.allSatisfy({ $0 < 128 }) else {
            return false
        }
        let letters = isReserved(name) ? name.dropFirst() : name[...]
        guard let first = letters.first, first.isLetter else { return false }
        return letters.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
    }

    /// Something before and after one `@`, without white space. More would refuse addresses that
    /// exist.
    private static func isMailAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            && !text.contains(where: \.isWhitespace)
    }
}

// MARK: - Several attributes

extension CustomerAttribute {
    /// The text by which a mail address is compared: letters of ASCII in lower case.
    package static func comparable(mailAddress text: String) -> String {
        String(text.map { $0.isASCII ? Character($0.lowercased()) : $0 })
    }

    /// What is known of a customer after a merge with another one. Of each name, the value that
    /// outranks the other stays; beyond the limits, the latest ones stay.
    ///
    /// - Parameter keepsOwn: whether the first customer's values stay, however old they are. Then
    ///   the other customer adds only names that the first one does not have, within the limits.
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

    /// The attributes within the limits: of each kind those with the given names, then the latest.
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
