import Crypto
import Ledger
import Storage
import Synchronization

/// Signs answers with a key that a client can trace back to the app's root key. The root key is in
/// the database, so all servers share it. Each process makes its own signing key, and the root key
/// certifies that key for ``keyDays`` days.
package struct AnswerSigningService: Sendable {
    /// The number of days for which a process's key is valid.
    static let keyDays: UInt32 = 30
    /// If a key is valid for fewer days than this, the process makes a new key.
    static let keyDaysMin: UInt32 = 15
    private static let secretName = "revenuecat answers"
    private static let dayMilliseconds: Int64 = 86_400_000

    private let context: Context
    private let ring: AnswerKeyRing

    /// - Parameter former: the service of the former configuration. This service continues to use
    ///   its keys.
    init(context: Context, former: AnswerSigningService?) {
        self.context = context
        ring = former?.ring ?? AnswerKeyRing()
    }

    /// The signer of an app's answers at the present time.
    ///
    /// - Parameter certified: returns the message that the root key signs to certify a key until
    ///   its last day. The last day is a number of days since 1970-01-01.
    package func signer(
        of app: AppID, certified: @Sendable (_ key: [UInt8], _ lastDay: UInt32) -> [UInt8]
    ) async throws(EngineFailure) -> AnswerSigner {
        let today = UInt32(clamping: context.now().milliseconds / Self.dayMilliseconds)
        if let known = ring.signer(of: app),
            (Self.keyDaysMin...Self.keyDays).contains(known.lastDay &- today)
        {
            return known
        }
        let root = try await rootKey(of: app)
        let key = Curve25519.Signing.PrivateKey()
        let lastDay = today + Self.keyDays
        let message = certified(Array(key.publicKey.rawRepresentation), lastDay)
        do {
            let certificate = try root.signature(for: message)
            let fresh = AnswerSigner(key: key, lastDay: lastDay, certificate: Array(certificate))
            ring.replace(fresh, of: app)
            return fresh
        } catch { throw .storage("Certifying a key for answers failed: \(error)") }
    }

    /// The public part of the app's root key, 32 bytes of Ed25519. The key is created when it is
    /// first needed.
    package func publicKey(of appID: AppID) async throws(EngineFailure) -> [UInt8] {
        _ = try context.app(appID)
        return Array(try await rootKey(of: appID).publicKey.rawRepresentation)
    }

    /// The SHA-256 of bytes, in hexadecimal.
    package static func digest(of bytes: [UInt8]) -> String {
        Hexadecimal.text(Array(SHA256.hash(data: bytes)))
    }

    private func rootKey(
        of app: AppID
    ) async throws(EngineFailure) -> Curve25519.Signing.PrivateKey {
        let name = Self.secretName
        var stored = try await context.read { tx in try tx.secrets.find(name, of: app) }
        if stored == nil {
            let fresh = Array(Curve25519.Signing.PrivateKey().rawRepresentation)
            let now = context.now()
            stored = try await context.transaction { tx in
                try tx.secrets.add(fresh, name, of: app, at: now)
                return try tx.secrets.find(name, of: app)
            }
        }
        guard let stored, let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: stored)
        else { throw .storage("the secret for \(name) cannot be read") }
        return key
    }
}

/// A process's key for one app's answers.
package struct AnswerSigner: Sendable {
    /// The size of a salt, in bytes.
    private static let saltSize = SymmetricKeySize.bits128

    fileprivate let key: Curve25519.Signing.PrivateKey
    /// The last day on which the key is valid, as a number of days since 1970-01-01.
    package let lastDay: UInt32
    /// The root key's signature that certifies the key, 64 bytes.
    package let certificate: [UInt8]

    /// 32 bytes of Ed25519.
    package var publicKey: [UInt8] { Array(key.publicKey.rawRepresentation) }

    /// 16 random bytes.
    package func salt() -> [UInt8] {
        SymmetricKey(size: Self.saltSize).withUnsafeBytes { Array($0) }
    }

    /// The signature of a message, 64 bytes.
    package func signature(of message: [UInt8]) throws(EngineFailure) -> [UInt8] {
        do { return Array(try key.signature(for: message)) } catch {
            throw .storage("Signing an answer failed: \(error)")
        }
    }
}

/// The keys of a process, by app.
private final class AnswerKeyRing: Sendable {
    private let signers = Mutex<[AppID: AnswerSigner]>([:])

    func signer(of app: AppID) -> AnswerSigner? { signers.withLock { $0[app] } }

    func replace(_ signer: AnswerSigner, of app: AppID) { signers.withLock { $0[app] = signer } }
}
