import AppStoreFormats
import AppStoreTrust
import Intake

/// The forms of Apple's documents that the server receives, each with its readers.
enum Form: String, CaseIterable, Sendable {
    /// The body of a notification of version 2.
    case notification
    /// A signed transaction or renewal by itself.
    case jws
    /// An app receipt: PKCS #7.
    case receipt
    /// The payload of an app receipt, which is read without the check of its signature.
    case payload
    /// A transaction receipt: a property list within a property list.
    case list
    /// An answer of verifyReceipt, in either style.
    case answer
    /// A request to our own verifyReceipt.
    case request
    /// The body of a notification of version 1.
    case v1

    /// The size limit of an input, in bytes, which equals the server's limit.
    var bytesMax: Int {
        switch self {
        case .notification, .v1: 1_048_576
        case .jws: Verifier.jwsBytesMax
        case .receipt, .payload: Verifier.receiptBytesMax
        case .list: TransactionReceiptFile.bytesMax
        case .answer, .request: 4_194_304
        }
    }
}

/// Reads a document with the readers that the server uses, without a server.
struct Reader {
    let verifier: Verifier
    let app: AppIdentity
    private let now = AppStoreDate(milliseconds: 1_790_000_000_000)

    init(trusting roots: [[UInt8]]) throws {
        verifier = Verifier(roots: try TrustRoots(der: roots))
        app = AppIdentity(
            bundleID: "com.example.birds", appAppleID: 1_234_567_890,
            environments: [.production, .sandbox])
    }

    /// Returns whether the document could be read.
    ///
    /// - Parameter verifies: whether to verify signatures, too, which takes most of the time.
    func reads(_ bytes: [UInt8], as form: Form, verifies: Bool) async -> Bool {
        switch form {
        case .notification: await readsNotification(bytes, verifies)
        case .jws: await readsJWS(bytes, verifies)
        case .receipt: await readsReceipt(bytes, verifies)
        case .payload: readsPayload(bytes)
        case .list: await readsList(bytes, verifies)
        case .answer: await readsAnswer(bytes, verifies)
        case .request: readsRequest(bytes)
        case .v1: await readsV1(bytes, verifies)
        }
    }

    private func readsNotification(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        let plain = bytes.withUnsafeBytes { body in
            NotificationBody.plainPayload(of: body).map(Array.init)
        }
        let read = (try? JSON(parsing: bytes))?["signedPayload"]?.string.map { Array($0.utf8) }
        guard let jws = plain ?? read else { return false }
        return await readsJWS(jws, verifies)
    }

    private func readsJWS(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        _ = Verifier.peek(bytes)
        if verifies {
            _ = await verifier.notification(bytes, for: app, at: now)
            _ = await verifier.transaction(bytes, for: app, at: now)
        }
        let isWhole = PackedDocument(packing: bytes).unpacked == bytes
        precondition(isWhole, "A document does not come back whole from packing.")
        guard let jws = CompactJWS(bytes), let payload = jws.payload,
            let json = try? JSON(parsing: payload)
        else { return false }
        if let header = jws.header { _ = try? JWSHeader(parsing: header) }
        _ = AppTransactionPayload(json: json)
        if let transaction = TransactionPayload(json: json) {
            _ = try? Intake.fact(of: transaction, signedAt: now)
        }
        if let renewal = RenewalPayload(json: json) {
            _ = try? Intake.fact(of: renewal, signedAt: now)
        }
        return NotificationPayload(json: json) != nil
    }

    private func readsReceipt(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        if verifies { _ = await verifier.receipt(bytes, for: app, at: now) }
        let text = ReceiptText.text(of: bytes)
        let isWhole = bytes.isEmpty || ReceiptText.bytes(of: text) == bytes
        precondition(isWhole, "A receipt does not come back whole from Base64.")
        return Verifier.peek(receipt: bytes) != nil
    }

    private func readsPayload(_ bytes: [UInt8]) -> Bool {
        guard let receipt = try? AppReceipt(parsing: bytes) else { return false }
        let again = try? AppReceipt(parsing: receipt.bytes)
        precondition(
            again?.purchases.count == receipt.purchases.count,
            "A receipt that was read cannot be read again as it is written.")
        for purchase in receipt.purchases { _ = VerifyReceiptRow(purchase).json.bytes }
        _ = receipt.hashedBytes(guid: [UInt8](repeating: 1, count: 16))
        _ = try? Intake.facts(of: receipt, in: .sandbox, createdAt: now)
        return true
    }

    private func readsList(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        if verifies { _ = await verifier.transactionReceipt(bytes, for: app, at: now) }
        guard let file = try? TransactionReceiptFile(parsing: bytes) else { return false }
        _ = try? TransactionReceiptSignature(parsing: file.signature)
        guard let receipt = try? TransactionReceipt(signedBytes: file.signedBytes) else {
            return false
        }
        _ = try? Intake.facts(of: receipt, in: .sandbox, signedAt: now)
        return true
    }

    private func readsAnswer(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        if verifies { _ = await verifier.receiptResponse(bytes, for: app, in: .sandbox, at: now) }
        guard let json = try? JSON(parsing: bytes), let answer = VerifyReceiptResponse(json: json)
        else { return false }
        _ = try? Intake.facts(of: answer, in: .sandbox, answeredAt: now)
        if let old = VerifyReceiptTransactionResponse(json: json) {
            _ = try? Intake.facts(of: old, in: .sandbox, answeredAt: now)
        }
        return (try? VerifyReceiptResponse(parsing: answer.json.bytes)) != nil
    }

    private func readsRequest(_ bytes: [UInt8]) -> Bool {
        guard let request = try? VerifyReceiptRequest(parsing: bytes),
            let receipt = request.receiptData.flatMap(ReceiptText.bytes)
        else { return false }
        _ = Verifier.peek(receipt: receipt)
        return true
    }

    private func readsV1(_ bytes: [UInt8], _ verifies: Bool) async -> Bool {
        guard let json = try? JSON(parsing: bytes), let told = V1Notification(json: json) else {
            return false
        }
        if verifies {
            _ = await verifier.notification(v1: json, for: app, .previouslyVerified, at: now)
        }
        let moment = told.moment(receivedAt: now)
        _ = try? Intake.facts(of: told, in: .sandbox, attestedAt: moment)
        _ = V1Notification.identity(of: json)
        return true
    }
}
