/// The customer's purchase of the app itself.
public struct AppTransaction: Sendable {
    public var jsonRepresentation: Data { document.payload }
    public let appID: UInt64?
    public let appTransactionID: String
    public let appVersion: String
    public let appVersionID: UInt64?
    public let bundleID: String
    public let environment: AppStore.Environment
    public let originalAppVersion: String
    public let originalPurchaseDate: Date
    public let originalPlatform: AppStore.Platform
    public let preorderDate: Date?
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID
    public let signedDate: Date

    let document: SignedDocument

    /// The app transaction of the device's account. Throws ``StoreKitError``.
    public static var shared: VerificationResult<AppTransaction> {
        get async throws {
            let answer = try await StoreClient(.current).readCached(
                "app-transaction", as: Answer.self)
            guard let answer else {
                throw StoreKitError.networkError(URLError(.cannotConnectToHost))
            }
            return try answer.result
        }
    }

    /// Asks the customer for the account's password, and fetches the app transaction from the
    /// store. Call this function only after an action of the customer.
    public static func refresh() async throws -> VerificationResult<AppTransaction> {
        try await StoreClient(.current).post("app-transaction/refresh", as: Answer.self).result
    }

    private struct Answer: Decodable {
        let signedAppTransaction: String
        let verification: String

        var result: VerificationResult<AppTransaction> {
            get throws {
                guard
                    let result = VerificationResult<AppTransaction>(
                        signedAppTransaction, verification)
                else {
                    throw StoreKitError.systemError(
                        SimulatorRefusal.unreadable("app-transaction"))
                }
                return result
            }
        }
    }
}

extension AppTransaction: Equatable, Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.document.payload == right.document.payload
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(document.payload) }
}

extension AppTransaction: CustomDebugStringConvertible {
    public var debugDescription: String { document.text }
    public var originalPlatformStringRepresentation: String { originalPlatform.rawValue }
}

extension AppTransaction: SignedValue {
    private struct Payload: Decodable {
        var receiptType: String?
        var appAppleId: UInt64?
        var bundleId: String
        var applicationVersion: String
        var originalApplicationVersion: String
        var versionExternalIdentifier: UInt64?
        var receiptCreationDate: Double?
        var originalPurchaseDate: Double
        var preorderDate: Double?
        var deviceVerification: String?
        var deviceVerificationNonce: String?
        var appTransactionId: String?
        var originalPlatform: String?
    }

    init?(_ document: SignedDocument) {
        guard let json = try? JSONDecoder().decode(Payload.self, from: document.payload),
            let purchased = Date(milliseconds: json.originalPurchaseDate)
        else { return nil }
        self.document = document
        appID = json.appAppleId
        appTransactionID = json.appTransactionId ?? ""
        appVersion = json.applicationVersion
        appVersionID = json.versionExternalIdentifier
        bundleID = json.bundleId
        environment = AppStore.Environment(rawValue: json.receiptType ?? "")
        originalAppVersion = json.originalApplicationVersion
        originalPurchaseDate = purchased
        originalPlatform = AppStore.Platform(rawValue: json.originalPlatform ?? "")
        preorderDate = Date(milliseconds: json.preorderDate)
        deviceVerification = Data(base64Encoded: json.deviceVerification ?? "") ?? Data()
        deviceVerificationNonce = UUID(lenient: json.deviceVerificationNonce)
        signedDate = Date(milliseconds: json.receiptCreationDate) ?? .distantPast
    }
}
