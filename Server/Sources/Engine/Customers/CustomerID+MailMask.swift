import Ledger

extension CustomerID {
    /// The masked form of an id that is a mail address. The owner of the address recognises it, but
    /// others learn almost nothing from it: `anna@example.com` gives `a…@e…`. Nil if the id is not
    /// a mail address.
    var mailMask: String? {
        let parts = rawValue.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let name = parts[0].first, Self.isDomain(parts[1]),
            let domain = parts[1].first, !rawValue.contains(where: \.isWhitespace)
        else { return nil }
        return "\(name)…@\(domain)…"
    }

    private static func isDomain(_ text: Substring) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.allSatisfy { !$0.isEmpty }
    }
}
