import Crypto
import Ledger
import Storage

/// Makes the ids that RevenueCat's format needs for purchases without an owner. These ids have the
/// form of the ids that RevenueCat's SDK makes, so anyone who knows such an id may act as its
/// customer. Each id contains a code that was made with a key of the app, so nobody can guess it,
/// even from a copy of the purchase.
struct AnonymousIDs {
    private static let keyName = "anonymous ids"
    private static let keyBits = SymmetricKeySize.bits256
    /// 128 bits, as in a UUID.
    private static let codeBytes = 16

    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The anonymous id of a purchase, which is always the same, on every server of the database.
    ///
    /// - Throws: ``EngineFailure/storage(_:)`` if ``prepare(_:in:at:)`` was not called before.
    func id(of purchase: PurchaseID, in app: AppID) throws -> CustomerID {
        guard let key = try tx.secrets.find(Self.keyName, of: app) else {
            throw EngineFailure.storage("the secret for \(Self.keyName) was not stored")
        }
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(purchase.description.utf8), using: SymmetricKey(data: key))
        let digits = Hexadecimal.text(Array(code).prefix(Self.codeBytes))
        return CustomerID(rawValue: CustomerID.revenueCatAnonymousPrefix + digits)
    }

    func isPrepared(in app: AppID) throws(StorageFailure) -> Bool {
        try tx.secrets.find(Self.keyName, of: app) != nil
    }

    /// Stores the app's key, unless there is one. Idempotent.
    func prepare(_ key: SymmetricKey, in app: AppID, at now: Instant) throws(StorageFailure) {
        try tx.secrets.add(key.withUnsafeBytes { Array($0) }, Self.keyName, of: app, at: now)
    }

    static func freshKey() -> SymmetricKey { SymmetricKey(size: keyBits) }
}

extension WebhookService {
    /// Stores the key of the app's anonymous ids if a webhook needs one. Idempotent.
    func prepareAnonymousIDs(for webhook: WebhookEndpoint) async throws(EngineFailure) {
        guard webhook.settings.format == .revenueCat else { return }
        let (app, now) = (webhook.app, context.now())
        guard try await !context.read({ tx in try AnonymousIDs(tx).isPrepared(in: app) }) else {
            return
        }
        let fresh = AnonymousIDs.freshKey()
        try await context.transaction { tx in
            try AnonymousIDs(tx).prepare(fresh, in: app, at: now)
        }
    }
}
