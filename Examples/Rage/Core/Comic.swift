public import Perennial

/// A comic, with the product that sells it.
public struct Comic: Hashable, Sendable, Identifiable {
    public var id: Perennial.ProductID
    public var title: String
    /// The entitlement that the product gives permanently.
    public var entitlement: Perennial.EntitlementID
    public var strip: String

    private init(_ name: String, _ title: String, _ strip: String) {
        id = Perennial.ProductID(rawValue: "com.example.rage.\(name)")
        entitlement = Perennial.EntitlementID(rawValue: name)
        self.title = title
        self.strip = strip
    }

    public static let all = [
        Comic(
            "drummerrage", "Girlfriend of a Drummer Rage",
            "Dinner at seven? [tap] Sure. [tap tap] (ಠ_ಠ) [tap tap tap] (ノಠ益ಠ)ノ"),
        Comic(
            "itunesconnectrage", "iTunes Connect Rage",
            "Upload: 99 %. (o_o) Your session has expired. (ノಠ益ಠ)ノ ┻━┻"),
        Comic(
            "nightlyrage", "Nightly Rage",
            "03:00, silence. (-_-) 03:01, a mosquito. (ಠ_ಠ) 03:02, light on: gone."),
        Comic(
            "studylikeaboss", "Study Like a Boss",
            "Exam at nine. Opens the book at eight. (⌐■_■)"),
        Comic(
            "updogsadness", "Updog Sadness",
            "It smells like updog in here. (^_^) Nobody asks. (._.)"),
    ]
}

extension RageShop {
    /// Whether the customer has bought the comic, or has a subscription.
    public func canRead(_ comic: Comic) -> Bool {
        perennial[comic.entitlement].isActive || isSubscribed
    }

    /// The text of a comic. Nil if the customer must buy it first.
    public func read(_ comic: Comic) -> String? { canRead(comic) ? comic.strip : nil }
}
