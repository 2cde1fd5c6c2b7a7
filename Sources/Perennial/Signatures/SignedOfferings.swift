internal import Foundation
internal import PerennialContract

/// The offerings of the app, with a verified signature.
struct SignedOfferings: Hashable, Sendable {
    /// The `typ` of the header. No token has this `typ`.
    static let type = "perennial-offerings+jwt"
    /// The maximum size of the signed text in bytes.
    static let bytesMax = 262_144

    let text: String
    let offerings: Offerings
    /// The app's name in the server's configuration.
    let app: String

    /// Verifies a signed text. Returns nil if no key of the ring signed it, or if it is for another
    /// app or environment.
    ///
    /// - Parameter bundleID: the app's bundle id. Nil if the app has none, as in tests.
    init?(_ text: String, by ring: KeyRing, audience: Audience, bundleID: String? = nil) {
        guard let jws = CompactJWS(text, bytesMax: Self.bytesMax),
            let payload = ring.verify(jws, type: Self.type),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload)),
            let offerings = Offerings(json: Data(payload)),
            let app = audience.app(of: claims.asJSON), app == offerings.app,
            bundleID == nil || bundleID == offerings.bundleID
        else { return nil }
        self.text = text
        self.offerings = offerings
        self.app = app
    }

    /// The claims of the payload, besides the offerings. `JSONDecoder` reads them and the
    /// offerings, because an app's own values may contain fractions, which ``SignedJSON`` refuses.
    private struct Claims: Decodable {
        var iss: String
        var aud: String
        var environment: String

        var asJSON: SignedJSON {
            .object([
                "iss": .string(iss), "aud": .string(aud), "environment": .string(environment),
            ])
        }
    }
}
