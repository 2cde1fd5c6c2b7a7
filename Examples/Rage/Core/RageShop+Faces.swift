public import Perennial

extension RageShop {
    public var isSubscribed: Bool { perennial[Self.everything].isActive }

    /// How many looks were bought and not used.
    public var timesRemaining: Int { perennial.wallet(Self.faces).balance }

    /// What stands under the button of the faces: the looks that remain, or how long the
    /// subscription lasts. Nil while nothing is known.
    public func facesLabel() async throws(Perennial.Failure) -> String? {
        guard isSubscribed else { return "Times remaining: \(timesRemaining)" }
        return try await list()?.headline.text
    }

    /// A random face. One look is spent, and none while a subscription runs.
    ///
    /// - Returns: nil if no look remains, or nobody is logged in.
    public func look() async throws(Perennial.Failure) -> Face? {
        guard account != nil else { return nil }
        if !isSubscribed {
            guard timesRemaining > 0 else { return nil }
            try await perennial.spend(1, from: Self.faces, for: "a random face")
        }
        return Face.all.randomElement()
    }
}
