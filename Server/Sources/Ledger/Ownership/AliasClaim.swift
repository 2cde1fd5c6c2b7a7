/// A request of an app to make two ids one customer: what each of them is, and whether the request
/// may speak for both.
///
/// An app key is public in practice, so a request with it proves nothing. Whoever knows an
/// anonymous id speaks for it, because nobody can guess one. Every other id may be somebody else's:
/// that of a person who is known, of one who will come later, or the account token of a purchase,
/// which everybody can read who has a copy of the signed transaction. So an app may add an
/// anonymous id to a person, or to another anonymous id, and needs more for anything else.
package struct AliasClaim: Hashable, Sendable {
    package var first: Side
    package var second: Side
    /// Whether the request has a proof of identity for each id that needs one.
    package var isProven: Bool
    /// Whether the app's settings allow its requests to make one customer of two persons.
    package var mayJoinPeople: Bool

    package init(_ first: Side, _ second: Side, isProven: Bool, mayJoinPeople: Bool) {
        self.first = first
        self.second = second
        self.isProven = isProven
        self.mayJoinPeople = mayJoinPeople
    }

    /// What an id is.
    package enum Side: Hashable, Sendable, CaseIterable {
        /// An anonymous id whose customer has no other kind of id, or that nobody has used yet.
        case anonymous
        /// An id of a customer whom the app knows as a person.
        case person
        /// Any other id that nobody has used yet. It may be that of a person who has not come yet,
        /// or the account token of a purchase.
        case unknown
        /// The server made it, to be set as account token: every signed transaction contains it.
        case accountToken
    }

    package enum Refusal: Hashable, Sendable {
        /// Both ids are persons whom the app knows.
        case twoPeople
        /// Nothing shows that one of the ids is the app's own customer's.
        case notProven
    }

    /// Why the two ids do not become one customer. Nil if they do.
    package var refusal: Refusal? {
        if isProven { return nil }
        if first == .accountToken || second == .accountToken { return .notProven }
        if mayJoinPeople || first == .anonymous || second == .anonymous { return nil }
        return first == .person && second == .person ? .twoPeople : .notProven
    }
}
