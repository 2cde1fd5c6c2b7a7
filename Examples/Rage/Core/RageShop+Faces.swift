public import Perennial

extension RageShop {
    public var isSubscribed: Bool { perennial[Self.everything].isActive }

    /// The number of faces that were bought and not used. Nil while the number is unknown, or if no
    /// customer is logged in.
    public var timesRemaining: Int? {
        let wallet = perennial.wallet(Self.faces)
        return wallet.isKnown ? wallet.balance : nil
    }

    /// The text under the button of the faces: the number of faces that remain, or how long the
    /// subscription lasts. Nil while nothing is known.
    public func facesLabel() async throws(Perennial.Failure) -> String? {
        guard isSubscribed else { return timesRemaining.map { "Times remaining: \($0)" } }
        return try await list()?.headline.text
    }

    /// Returns a random face. Spends one face from the wallet, unless a subscription is active.
    ///
    /// - Returns: nil if no face remains, or if no customer is logged in.
    public func look() async throws(Perennial.Failure) -> Face? {
        guard account != nil else { return nil }
        if !isSubscribed {
            if let timesRemaining, timesRemaining <= 0 { return nil }
            try await perennial.spend(1, from: Self.faces, for: "a random face")
        }
        return Face.all.randomElement()
    }
}
