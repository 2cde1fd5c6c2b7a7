import AppStoreFormats
import Crypto
import Foundation
import Ledger
import Storage

/// The form of the proofs that an app requires. A proof shows which customer a request from the app
/// is for. Only the app's own server can create such a proof.
package enum IdentityProof: Hashable, Sendable {
    /// `SECONDS.CODE`: the expiry in seconds since 1970-01-01 UTC, and an HMAC-SHA256 in
    /// hexadecimal, with the secret. The message of the HMAC is the customer's id, a line break,
    /// and the expiry.
    ///
    /// If `endless` is true, the HMAC-SHA256 of the id alone is also accepted. The HMAC of an id
    /// never expires.
    case hmac(AppSecret, endless: Bool = false)
    /// A JWT signed with HS256 (RFC 7519) whose `sub` is the customer's id.
    case token(AppSecret, Claims = Claims())
    /// A JWT signed with ES256 whose `sub` is the customer's id. The public key is in X9.63 form.
    case signedToken(publicKey: [UInt8], Claims = Claims())

    /// The claims that a JWT must contain besides `sub` and `exp`.
    package struct Claims: Hashable, Sendable {
        /// The required `aud`. Nil if `aud` is not checked.
        package var audience: String?
        /// The required `iss`. Nil if `iss` is not checked.
        package var issuer: String?

        package init(audience: String? = nil, issuer: String? = nil) {
            self.audience = audience
            self.issuer = issuer
        }
    }

    /// The maximum length of a proof, in bytes.
    package static let bytesMax = 4096
    /// The maximum time by which the clock of a JWT's issuer may be ahead of this server's clock.
    package static let clockSkewMax = Duration.seconds(60)

    package enum Defect: String, Hashable, Sendable {
        case missing
        case wrong
        case expired
        case notYet = "not yet valid"
        /// The proof never expires, but is valid otherwise.
        case endless = "without an end"
        /// The request merges two ids, and the proof is for only one of them.
        case ofOneOnly = "of one of the two ids only"
    }

    /// Reads a P-256 public key and returns it in X9.63 form.
    ///
    /// - Parameter pem: the key as OpenSSL writes it.
    /// - Throws: if the text contains no such key.
    package static func publicKey(pem: String) throws -> [UInt8] {
        Array(try P256.Signing.PublicKey(pemRepresentation: pem).x963Representation)
    }

    /// What is wrong with a proof for an id. Returns nil if the proof is valid.
    package func defect(in proof: String?, of id: CustomerID, at now: Instant) -> Defect? {
        defect(in: proof.map { [$0] } ?? [], ofAnyOf: [id], at: now)
    }

    /// What is wrong with some proofs for some ids. Returns nil if one of the proofs is valid for
    /// one of the ids.
    func defect(in proofs: [String], ofAnyOf ids: [CustomerID], at now: Instant) -> Defect? {
        var lack = Defect.missing
        for proof in proofs where !proof.isEmpty {
            guard let found = self.defect(inOne: proof, ofAnyOf: ids, at: now) else { return nil }
            if lack == .missing || lack == .wrong { lack = found }
        }
        return lack
    }

    private func defect(
        inOne proof: String, ofAnyOf ids: [CustomerID], at now: Instant
    ) -> Defect? {
        guard proof.utf8.count <= Self.bytesMax else { return .wrong }
        switch self {
        case .hmac(let secret, let endless):
            return Self.defect(inCode: proof, by: secret.key, endless, ofAnyOf: ids, at: now)
        case .token(let secret, let wanted):
            return wanted.defect(in: proof, "HS256", ofAnyOf: ids, at: now) { signed, signature in
                HMAC<SHA256>.isValidAuthenticationCode(
                    signature, authenticating: signed, using: secret.key)
            }
        case .signedToken(let publicKey, let wanted):
            return wanted.defect(in: proof, "ES256", ofAnyOf: ids, at: now) { signed, signature in
                guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey),
                    let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
                else { return false }
                return key.isValidSignature(signature, for: signed)
            }
        }
    }

    /// What is wrong with an HMAC. No customer id contains a line break, so a code with an expiry
    /// never equals a code without one.
    private static func defect(
        inCode proof: String, by key: SymmetricKey, _ takesEndless: Bool,
        ofAnyOf ids: [CustomerID], at now: Instant
    ) -> Defect? {
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = parts.last, let code = Hexadecimal.bytes(last), parts.count <= 2 else {
            return .wrong
        }
        let end = parts.count == 2 ? parts[0] : nil
        let isGood = ids.contains { id in
            let text = end.map { "\(id)\n\($0)" } ?? id.rawValue
            return HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Array(text.utf8), using: key)
        }
        guard isGood else { return .wrong }
        guard let end else { return takesEndless ? nil : .endless }
        guard let seconds = Int64(end) else { return .wrong }
        return now.milliseconds / 1000 < seconds ? nil : .expired
    }
}

extension IdentityProof.Claims {
    /// What is wrong with a JWT. The configuration decides the algorithm. A token that names
    /// another algorithm is rejected.
    fileprivate func defect(
        in token: String, _ algorithm: String, ofAnyOf ids: [CustomerID], at now: Instant,
        isSigned: (_ signed: [UInt8], _ signature: [UInt8]) -> Bool
    ) -> IdentityProof.Defect? {
        guard let jws = CompactJWS(token), let signature = jws.signature,
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }),
            header["alg"]?.string == algorithm,
            // A verifier must understand every header that a token declares as critical (RFC 7515,
            // 4.1.11). This verifier understands no critical header.
            header["crit"] == nil, isSigned(Array(jws.signedBytes), signature),
            let claims = jws.payload.flatMap({ try? JSON(parsing: $0) }),
            let subject = claims["sub"]?.string, ids.contains(CustomerID(rawValue: subject)),
            isMet(by: claims), let expiry = claims["exp"]?.numericDate
        else { return .wrong }
        if let named = claims["nbf"] {
            guard let start = named.numericDate else { return .wrong }
            let latest = now + IdentityProof.clockSkewMax
            guard start <= Double(latest.milliseconds) / 1000 else { return .notYet }
        }
        return Double(now.milliseconds) / 1000 < expiry ? nil : .expired
    }

    private func isMet(by claims: JSON) -> Bool {
        if let issuer, claims["iss"]?.string != issuer { return false }
        guard let audience else { return true }
        let named = claims["aud"]?.array ?? [claims["aud"]].compactMap(\.self)
        return named.contains { $0.string == audience }
    }
}

extension JSON {
    /// The value as seconds since 1970-01-01 UTC, possibly with a fraction (RFC 7519: NumericDate).
    /// Nil if the value is no number.
    var numericDate: Double? {
        switch self {
        case .integer(let seconds): Double(seconds)
        case .decimal(let literal): Double(literal)
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension AppSecret {
    fileprivate var key: SymmetricKey { SymmetricKey(data: Array(text.utf8)) }
}

extension CustomerService {
    /// The maximum number of proofs in one request: a merge of two customers may need a proof for
    /// each of them.
    package static let proofsMax = 2

    /// Whether requests from an app must prove which customer they are for.
    package func requiresProof(_ app: AppID) -> Bool { context.apps[app]?.proof != nil }

    /// Whether an id and all other ids of its customer are anonymous. Anyone who knows such an id
    /// may act as its customer.
    package func isOnlyAnonymous(
        _ id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> Bool {
        guard id.isAnonymous else { return false }
        return try await context.read { tx in
            try IdentityDecisions(tx).provers(of: id, in: appID).isEmpty
        }
    }

    /// Accepts an app's request if it proves which customer it is for, or if the app requires no
    /// proof. Throws `identityNotProven` otherwise. An anonymous id needs no proof until it is
    /// merged with an id that needs a proof. After the merge, a proof of that other id is needed.
    package func requireProof(
        _ proofs: [String], of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) {
        guard let wanted = context.apps[appID]?.proof else { return }
        let now = context.now()
        let provers =
            id.isAnonymous
            ? try await context.read { tx in try IdentityDecisions(tx).provers(of: id, in: appID) }
            : [id]
        guard !provers.isEmpty else { return }
        if let lack = wanted.defect(in: proofs, ofAnyOf: provers, at: now) {
            throw .identityNotProven(lack)
        }
    }
}
