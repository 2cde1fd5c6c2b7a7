import AppStoreFormats
import Synchronization

/// Makes the tokens for the `Authorization` header, according to the page "Generating JSON Web
/// Tokens for API requests". A token is used for many calls, and replaced before it expires.
///
/// A token is also replaced if the clock was set back, because a token from the future is not
/// valid.
final class BearerTokens: Sendable {
    /// The time from `iat` to `exp`. Apple allows an hour, and 20 minutes for App Store Connect.
    static let lifetimeSeconds: Int64 = 1800
    static let connectLifetimeSeconds: Int64 = 1140
    /// How far `iat` is in the past, because Apple's clock may be behind ours.
    static let backdatedSeconds: Int64 = 60
    /// A token is used only if its remaining lifetime is at least this long, because the token must
    /// still be valid on arrival.
    static let remainingSecondsMin: Int64 = 300
    /// A refused token is replaced only if it is at least this old, in seconds. A younger token is
    /// kept, because a new token would also be refused.
    static let reissueSecondsMin: Int64 = 60
    static let audience = "appstoreconnect-v1"

    private struct Token: Sendable {
        let authorization: String
        /// The times at which the token may be used, in seconds since 1970.
        let usable: Range<Int64>

        var issuedAt: Int64 { usable.lowerBound + backdatedSeconds }
    }

    private let credentials: AppStoreCredentials
    private let latest = Mutex<Token?>(nil)

    init(_ credentials: AppStoreCredentials) { self.credentials = credentials }

    /// The value of the header `Authorization`.
    func authorization(at now: AppStoreDate) throws(AppStoreFailure) -> String {
        let seconds = now.milliseconds / 1000
        let result: Result<String, AppStoreFailure> = latest.withLock { latest in
            if let latest, latest.usable.contains(seconds) { return .success(latest.authorization) }
            return Result { () throws(AppStoreFailure) in
                let token = try token(at: seconds)
                latest = token
                return token.authorization
            }
        }
        return try result.get()
    }

    /// Whether calls are still made with this token.
    func isCurrent(_ authorization: String?, at now: AppStoreDate) -> Bool {
        latest.withLock { latest in
            latest?.authorization == authorization
                && latest?.usable.contains(now.milliseconds / 1000) == true
        }
    }

    /// Discards a refused token, so that the next call gets a new one. Keeps the token if it was
    /// created just now.
    func discard(_ authorization: String?, at now: AppStoreDate) {
        latest.withLock { latest in
            guard let token = latest, token.authorization == authorization,
                now.milliseconds / 1000 - token.issuedAt >= Self.reissueSecondsMin
            else { return }
            latest = nil
        }
    }

    private func token(at now: Int64) throws(AppStoreFailure) -> Token {
        let issued = now - Self.backdatedSeconds
        let lifetime =
            credentials.bundleID == nil ? Self.connectLifetimeSeconds : Self.lifetimeSeconds
        let expires = issued + lifetime
        var claims: [JSON.Member] = [
            .init("iss", .string(credentials.issuerID)), .init("iat", .integer(issued)),
            .init("exp", .integer(expires)), .init("aud", .string(Self.audience)),
        ]
        // A team key does not belong to one app, so its tokens name no app.
        if let bundleID = credentials.bundleID { claims.append(.init("bid", .string(bundleID))) }
        let token = try credentials.jws(.object(claims))
        return Token(
            authorization: "Bearer " + token, usable: issued..<(expires - Self.remainingSecondsMin))
    }
}
