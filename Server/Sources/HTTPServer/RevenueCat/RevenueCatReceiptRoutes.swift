import Engine
import HTTPTypes
import Hummingbird
import Ledger
import RevenueCatWebhooks
import RevenueCatWire
import Storage

extension HTTPField.Name {
    fileprivate static let sdkVersion = wellFormed("X-Version")
    fileprivate static let platform = wellFormed("X-Platform")
}

/// The routes by which RevenueCat's SDK posts purchases.
///
/// The SDK finishes a transaction after any 2xx and any 4xx. So a 2xx means that the document is
/// stored, and a 4xx means that it will never be accepted.
struct RevenueCatReceiptRoutes: RouteGroup {
    /// How long the App Store is asked before a restore is answered. The SDK sends nothing else
    /// until it has the answer, or has waited for 60 seconds.
    static let checkSecondsMax = 15
    /// The maximum number of purchases about which the App Store is asked in one restore.
    static let checksMax = 3

    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var posting: Route {
        gate.keyed(
            .post, "/v1/receipts", "revenueCatReceipt", from: .both(.support), signed: .withNonce,
            finality: .receipt, post)
    }

    var all: [Route] {
        [posting]
            + gate.about(
                .post, "/restore/eligibility", "revenueCatRestore", signed: .withNonce, preview)
    }

    @Sendable func post(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let posted = try await RevenueCatGate.value(
            RevenueCatReceipt.self, of: request, max: BodyLimit.purchases)
        let id = CustomerID(rawValue: posted.appUserId)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let isServer = holder.kind == .secret
        if isServer {
            try Self.requireApple(request)
            try posted.requireToken()
            try RevenueCatAttributes.requireValue(for: posted.nameWithoutValue)
        }
        let evidence = try posted.evidence
        let attributes = RevenueCatAttributeRoutes(server: server)
        guard !evidence.isEmpty else {
            try await attributes.record(posted.changes, of: id, holder)
            return try await respond(to: id, request, holder)
        }
        let intent = isServer ? posted.intentOfServer : posted.intent
        let origin = PurchaseOrigin(
            placement: posted.presentedOfferingIdentifier?.text,
            sdk: request.headers[.sdkVersion].map { "revenuecat/\($0)" },
            storefront: posted.storeCountry?.text)
        let posting = try await record(evidence, of: id, intent, origin, holder)
        if let failure = posting.failureOfPurchase { throw failure }
        if let refusal = posting.refusal(for: intent) { throw refusal }
        guard var state = posting.state else { throw ProblemError(.serverFailed) }
        try await attributes.record(posted.changes, of: id, holder)
        if intent == .restore { state = try await checked(state, posting, holder.app) }
        return try await gate.respond(state, to: holder)
    }

    private static let applePlatforms: Set = [
        "ios", "macos", "uikitformac", "tvos", "watchos", "visionos",
    ]

    /// Throws if the header X-Platform names a platform that is not Apple's.
    private static func requireApple(_ request: Request) throws {
        guard let platform = request.headers[.platform]?.lowercased() else { return }
        guard applePlatforms.contains(platform) else {
            throw RevenueCatProblem(
                .badRequest, .invalidPlatform,
                "Only purchases of Apple's App Store are recorded here. Send X-Platform: ios.")
        }
    }

    /// Responds to a device that has neither a purchase nor an app transaction.
    private func respond(
        to id: CustomerID, _ request: Request, _ holder: StoredKey
    ) async throws -> Response {
        try await gate.respond(try await gate.state(of: id, request, holder), to: holder)
    }

    /// Records a posting as our own route does. Omits an app transaction whose environment differs
    /// from that of the purchase.
    private func record(
        _ evidence: PurchaseEvidence, of id: CustomerID, _ intent: OwnershipClaim.Intent,
        _ origin: PurchaseOrigin, _ holder: StoredKey
    ) async throws -> PostingResult {
        do {
            return try await engine.recording.post(
                evidence, of: id, intent: intent, boughtAt: origin, app: holder.app,
                isByApp: holder.kind == .app)
        } catch {
            guard case .mixedEnvironments = error else { throw error }
            var purchase = evidence
            purchase.signedAppTransaction = nil
            return try await engine.recording.post(
                purchase, of: id, intent: intent, boughtAt: origin, app: holder.app,
                isByApp: holder.kind == .app)
        }
    }

    // MARK: - Restores

    /// Asks the App Store about restored purchases that give no access, and returns the state
    /// afterwards. This is necessary because the SDK posts only one transaction of a purchase, and
    /// this transaction may be old.
    ///
    /// - Throws: ``RevenueCatProblem`` if the App Store did not respond for a temporary reason, so
    ///   that the SDK tries again. If the reason is permanent, the returned state is based on the
    ///   documents that the server has, because otherwise a restore could never succeed.
    private func checked(
        _ state: CustomerState, _ posting: PostingResult, _ app: AppID
    ) async throws -> CustomerState {
        guard engine.reconciliation.canQueryAppStore(app) else { return state }
        let posted = Set(posting.ownerships.map(\.purchase))
        let shut = state.purchases.filter {
            posted.contains($0.timeline.purchase) && $0.isOwn && $0.access?.isOpen == false
        }.map(\.timeline.purchase).prefix(Self.checksMax)
        guard !shut.isEmpty else { return state }
        guard try await !mayRespondSoon(about: Array(shut), of: app) else {
            throw RevenueCatProblem(
                .serviceUnavailable, .internalFailure,
                "The App Store does not respond. Restore again later.")
        }
        return try await engine.customers.find(
            state.id, app: app, environment: state.environment)
    }

    /// Asks the App Store about purchases. Returns whether the response about one of the purchases
    /// is still missing and may arrive soon.
    private func mayRespondSoon(
        about purchases: [PurchaseID], of app: AppID
    ) async throws -> Bool {
        let engine = engine
        return try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                for purchase in purchases
                where try await engine.reconciliation.reconcileIfDue(about: purchase, in: app) {
                    return true
                }
                return false
            }
            tasks.addTask {
                try await Task.sleep(for: .seconds(Self.checkSecondsMax))
                return true
            }
            defer { tasks.cancelAll() }
            return try await tasks.next() ?? false
        }
    }

    /// Whether restoring would give a purchase to the customer.
    @Sendable func preview(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let posted = try await RevenueCatGate.value(
            RevenueCatReceipt.Token.self, of: request, max: BodyLimit.purchases)
        let preview = try await engine.recording.preview(
            try RevenueCatReceipt.evidence(of: posted.fetchToken, nil), of: id, buying: nil,
            intent: .restore, app: holder.app,
            environment: RevenueCatGate.environment(of: request))
        let isRefused = preview.purchases.contains {
            if case .refuse = $0.verdict { !$0.belongsToClaimant } else { false }
        }
        return try JSONResponse.ok(
            RevenueCatValue.object([
                .init("is_purchase_allowed_by_restore_behavior", .bool(!isRefused))
            ]))
    }
}

extension PostingResult {
    /// Why the purchase itself was not accepted. The failure is reported even if the app
    /// transaction beside the purchase was accepted. Otherwise the SDK would finish the transaction
    /// of a purchase that is not stored.
    fileprivate var failureOfPurchase: EngineFailure? {
        let purchases = documents.filter { $0.place.member != .signedAppTransaction }
        let failures = (purchases.isEmpty ? documents : purchases).compactMap { document in
            if case .refused(let failure) = document.result { failure } else { nil }
        }
        return failures.first { !$0.isFinalForDocument } ?? failures.first
    }
}
