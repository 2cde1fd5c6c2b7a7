/// An app's request to make two ids one customer: the kind of each id, and whether the request may
/// act for both.
///
/// An app key is public in practice, so a request with an app key proves nothing. Anyone who knows
/// an anonymous id may act as its customer, because such an id cannot be guessed. Every other id
/// may belong to another person: a known person, a future person, or the owner of a purchase with
/// this account token. Anyone with a copy of a signed transaction can read its account token. So
/// with an app key an anonymous id may be added to a person, or to another anonymous id. Any other
/// request needs more proof.
package struct AliasClaim: Hashable, Sendable {
    package var first: Side
    package var second: Side
    /// Whether the request has a proof of identity for each id that needs one.
    package var isProven: Bool
    /// Whether the app's settings allow its requests to merge two persons into one customer.
    package var mayJoinPeople: Bool

    package init(_ first: Side, _ second: Side, isProven: Bool, mayJoinPeople: Bool) {
        self.first = first
        self.second = second
        self.isProven = isProven
        self.mayJoinPeople = mayJoinPeople
    }

    /// The kind of an id.
    package enum Side: Hashable, Sendable, CaseIterable {
        /// An anonymous id that is unused, or whose customer has only anonymous ids.
        case anonymous
        /// An id of a customer whom the app knows as a person.
        case person
        /// Any other id that is not used yet. Such an id may be the id of a future person, or the
        /// account token of a purchase.
        case unknown
        /// An id that the server made as an account token: every signed transaction contains it.
        case accountToken
    }

    package enum Refusal: Hashable, Sendable {
        /// Both ids belong to persons whom the app knows.
        case twoPeople
        /// Nothing proves that one of the ids belongs to the app's own user.
        case notProven
    }

    /// Why the two ids are not merged. Nil if they are merged.
    package var refusal: Refusal? {
        if isProven { return nil }
        if first == .accountToken || second == .accountToken { return .notProven }
        if mayJoinPeople || first == .anonymous || second == .anonymous { return nil }
        return first == .person && second == .person ? .twoPeople : .notProven
    }
}
