import AppStoreFormats
import Ledger

/// A customer who is proven by a JWT of the app's own server.
package struct ProvenIdentity: Hashable, Sendable {
    package var id: CustomerID
    /// When the proof ends.
    package var until: Instant
}

extension CustomerService {
    /// The customer whom a JWT proves. Returns nil if the app's proofs are not JWTs.
    ///
    /// - Throws: `identityNotProven` if the JWT is not valid now.
    package func identity(
        provenBy token: String, app: AppID
    ) throws(EngineFailure) -> ProvenIdentity? {
        guard let proof = context.apps[app]?.proof, proof.isToken else { return nil }
        guard let identity = ProvenIdentity(claimedBy: token) else {
            throw .identityNotProven(.wrong)
        }
        if let defect = proof.defect(in: token, of: identity.id, at: context.now()) {
            throw .identityNotProven(defect)
        }
        try identity.id.requireValid()
        return identity
    }
}

extension IdentityProof {
    /// Whether proofs are JWTs, which name the customer.
    fileprivate var isToken: Bool {
        switch self {
        case .hmac: false
        case .token, .signedToken: true
        }
    }
}

extension ProvenIdentity {
    /// What a JWT says, before its signature is verified. Returns nil if it names no customer or no
    /// end.
    fileprivate init?(claimedBy token: String) {
        guard token.utf8.count <= IdentityProof.bytesMax,
            let payload = CompactJWS(token)?.payload, let claims = try? JSON(parsing: payload),
            let subject = claims["sub"]?.string, let end = claims["exp"]?.numericDate,
            (0...Self.secondsMax).contains(end)
        else { return nil }
        self.init(
            id: CustomerID(rawValue: subject), until: Instant(milliseconds: Int64(end * 1000)))
    }

    /// The last second of the year 9999.
    private static let secondsMax: Double = 253_402_300_799
}
