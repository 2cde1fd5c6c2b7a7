import AppStoreFormats

/// The deprecated verifyReceipt endpoint: computes the response to a request's body.
///
/// The checks are, in this order: the body can be parsed, the receipt is genuine and was sent to
/// the right environment, the secret is right, and the account is known. The response contains the
/// decoded receipt, and the current state of the account.
struct VerifyReceiptResponder: Sendable {
    let world: World
    let authority: ReceiptAuthority
    /// The environment that received the request.
    let environment: SimulatedEnvironment
    let now: AppStoreDate

    /// Maximum number of bytes of a request.
    static let bodyBytesMax = 6_291_456

    /// The content of `receipt-data`.
    private enum Submitted {
        case app(AppReceipt)
        case transaction(TransactionReceipt, SimulatedEnvironment)
        case refused(VerifyReceiptStatus)
    }

    func response(to body: [UInt8]) throws(SigningFailure) -> JSON {
        guard let request = try? VerifyReceiptRequest(parsing: body) else {
            return VerifyReceiptResponse(.unreadable).json
        }
        switch submitted(in: request) {
        case .refused(let status): return VerifyReceiptResponse(status).json
        case .app(let receipt):
            let refusal = refusal(
                from: receipt.environment, request, needsSecret: receipt.holdsSubscriptions)
            if let refusal { return refusal.json }
            return try response(request, about: receipt).json
        case .transaction(let receipt, let origin):
            let refusal = refusal(from: origin, request, needsSecret: receipt.expires != nil)
            if let refusal { return refusal.json }
            return try response(about: receipt)
        }
    }

    private func submitted(in request: VerifyReceiptRequest) -> Submitted {
        guard let file = request.receiptData.flatMap(Self.file) else { return .refused(.malformed) }
        do throws(ReceiptRefusal) {
            guard file.first == UInt8(ascii: "{") else {
                return .app(try authority.receipt(in: file))
            }
            let (receipt, origin) = try authority.transaction(in: file)
            return .transaction(receipt, origin)
        } catch {
            switch error {
            case .malformed: return .refused(.malformed)
            case .notAuthentic: return .refused(.notAuthentic)
            }
        }
    }

    /// Decodes Base64, with or without line breaks.
    private static func file(_ text: String) -> [UInt8]? {
        let characters = text.utf8.filter { !Self.blanks.contains($0) }
        return Base64.standard.decode(characters).flatMap { $0.isEmpty ? nil : $0 }
    }

    private static let blanks = Set(" \r\n\t".utf8)

    private func refusal(
        from origin: SimulatedEnvironment, _ request: VerifyReceiptRequest, needsSecret: Bool
    ) -> VerifyReceiptResponse? {
        switch (origin, environment) {
        case (.sandbox, .production): return VerifyReceiptResponse(.sandboxReceipt)
        case (.production, .sandbox): return VerifyReceiptResponse(.productionReceipt)
        case (.production, .production), (.sandbox, .sandbox): break
        }
        guard needsSecret || request.password != nil else { return nil }
        guard request.password == world.settings.sharedSecret else {
            return VerifyReceiptResponse(.wrongSecret, environment: environment.storeEnvironment)
        }
        return nil
    }
}

// MARK: - About app receipts

extension VerifyReceiptResponder {
    private func response(
        _ request: VerifyReceiptRequest, about receipt: AppReceipt
    ) throws(SigningFailure) -> VerifyReceiptResponse {
        var answer = VerifyReceiptResponse(.valid, environment: environment.storeEnvironment)
        answer.receipt = VerifyReceiptApp(receipt, at: now)
        guard let first = receipt.purchases.first?[.transactionID]?.text else { return answer }
        guard let owner = world.owner(of: first) else { return unknownAccount }
        guard receipt.holdsSubscriptions else { return answer }
        let rows = ReceiptBooks(world).legacyTransactions(of: owner, at: now).map(\.row)
        answer.latestRows =
            request.excludesOldTransactions == true ? Self.newestOfEachSubscription(rows) : rows
        let renewed = ReceiptBooks(world).receipt(renewing: receipt, of: owner, at: now)
        answer.latestReceipt = try authority.text(renewed, digest: world.settings.receiptDigest)
        answer.renewals = ReceiptBooks(world).legacyRenewals(of: owner, at: now)
        return answer
    }

    /// The response for a receipt whose transactions are of another world: the same as for a
    /// deleted account.
    private var unknownAccount: VerifyReceiptResponse {
        var answer = VerifyReceiptResponse(
            .unknownAccount, environment: environment.storeEnvironment)
        answer.isRetryable = false
        return answer
    }

    /// The newest row of each subscription. `rows` must be oldest first. Purchases that do not
    /// renew are omitted.
    private static func newestOfEachSubscription(_ rows: [VerifyReceiptRow]) -> [VerifyReceiptRow] {
        var seen: Set<String?> = []
        let newest = rows.reversed().filter { row in
            row.expires != nil && seen.insert(row.originalTransactionID).inserted
        }
        return newest.reversed()
    }
}

extension AppReceipt {
    fileprivate var environment: SimulatedEnvironment {
        let type = self[.receiptType]?.text.map { ReceiptType(rawValue: $0) }
        return type == .sandbox || type == .volumeSandbox ? .sandbox : .production
    }

    fileprivate var holdsSubscriptions: Bool {
        purchases.contains { $0[.kind]?.integer == ReceiptProductKind.autoRenewable.rawValue }
    }
}

// MARK: - About transaction receipts

extension VerifyReceiptResponder {
    /// The response in the form of iOS 6: the transaction, and its subscription's latest
    /// transaction.
    private func response(about receipt: TransactionReceipt) throws(SigningFailure) -> JSON {
        guard let id = receipt.transactionID, let owner = world.owner(of: id) else {
            return unknownAccount.json
        }
        var answer = VerifyReceiptTransactionResponse()
        answer.receipt = receipt
        answer.status = .valid
        guard receipt.expires != nil else { return answer.json }
        let chain = world.transactionIDs.chain(of: id).flatMap { world.subscriptions[$0] }
        guard let chain else { return unknownAccount.json }
        let letterhead = world.documentContext(of: owner)
        let latest = ReceiptBooks(world).legacyTransaction(chain.latest, letterhead, at: now)
            .receipt(
                appAppleID: world.settings.appAppleID,
                device: ReceiptBooks(world).hardware(of: owner))
        if latest.cancelled == nil, let expires = latest.expires, expires > now {
            answer.latest = latest
            answer.latestReceipt = try authority.text(latest, in: owner.environment)
        } else {
            answer.latestExpired = latest
            answer.cancellationReason = latest.cancellationReason
            answer.status = .expired
        }
        let renewals = ReceiptBooks(world).legacyRenewals(of: owner, at: now)
        let renewal = renewals.first { $0.originalTransactionID == latest.originalTransactionID }
        answer.autoRenewProductID = renewal?.autoRenewProductID
        answer.autoRenewStatus = renewal?.autoRenewStatus
        answer.expirationIntent = renewal?.expirationIntent
        answer.isInBillingRetry = renewal?.isInBillingRetry
        return answer.json
    }
}
