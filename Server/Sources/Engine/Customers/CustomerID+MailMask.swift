import Ledger

extension CustomerID {
    /// A mask of the mail address that this id is. Its owner recognises it, while others learn next
    /// to nothing: `anna@example.com` gives `a…@e…`. Nil if the id is not a mail address.
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
