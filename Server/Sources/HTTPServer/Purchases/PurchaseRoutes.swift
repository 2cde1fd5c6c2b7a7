import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The routes that post a device's purchases or preview the posting.
struct PurchaseRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .post, Paths.purchases, "postPurchases",
                    "Post a device's purchases for a customer",
                    description: """
                        Responds with the customer, in the environment of the documents. \
                        Idempotent: a document that is known already changes nothing. With an \
                        intent, the server accepts the other documents even if some are refused: \
                        outcomes has the result of each.
                        """, parameters: [.proof], input: PurchasesRequest.self,
                    output: .json(Customer.self)), post),
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .post, Paths.preview, "preview",
                    "Show what posting would do, and whether to buy",
                    description: """
                        Changes nothing. The owner_id of another customer is shown to secret keys \
                        only.
                        """, parameters: [.environment, .proof], input: PreviewRequest.self,
                    output: .json(PurchasePreview.self)), preview),
        ]
    }

    @Sendable func post(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let posted = try await request.purchases(PurchasesRequest.self)
        let evidence = PurchaseEvidence(posted)
        guard !evidence.isEmpty else {
            throw ProblemError(.purchasesMissing)
        }
        let id = CustomerID(rawValue: posted.customerID)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let intent = try OwnershipClaim.Intent(posted.intent)
        let posting: PostingResult
        do {
            posting = try await engine.recording.post(
                evidence, of: id, intent: intent, boughtAt: PurchaseOrigin(posted),
                app: holder.app, isByApp: holder.kind == .app)
        } catch {
            throw ProblemError(error, subject: .purchases)
        }
        return try await respond(to: posting, intent, holder)
    }

    /// Responds with the customer after a posting, or with a problem if no document was accepted or
    /// something was refused.
    private func respond(
        to posting: PostingResult, _ intent: OwnershipClaim.Intent?, _ holder: StoredKey
    ) async throws -> Response {
        let outcomes = intent == nil ? nil : posting.documents.map { DocumentOutcome($0) }
        guard let state = posting.state, posting.documents.contains(where: \.isAccepted) else {
            var error = ProblemError(posting.firstFailure, subject: .purchases)
            error.problem.outcomes = outcomes
            throw error
        }
        var customer = try await server.answers.customer(in: state, for: holder)
        customer.add(posting.ownerships.map { PurchaseVerdict($0) })
        customer.outcomes = outcomes
        if let refusal = posting.refusal(for: intent) {
            var error = ProblemError(refusal, subject: .purchases)
            error.problem.customer = customer
            throw error
        }
        return try JSONResponse.ok(customer)
    }
}

/// The members that a posting of purchases and its preview have in common.
protocol PostedPurchases {
    var signedTransactions: [String]? { get }
    var signedRenewalInfos: [String]? { get }
    var appReceipt: String? { get }
    var transactionReceipt: String? { get }
    var deviceGUID: String? { get }
    var signedAppTransaction: String? { get }
}

extension PurchasesRequest: PostedPurchases {}
extension PreviewRequest: PostedPurchases {}

extension PurchaseEvidence {
    init(_ posted: some PostedPurchases) {
        self.init(
            signedTransactions: posted.signedTransactions ?? [],
            signedRenewalInfos: posted.signedRenewalInfos ?? [], appReceipt: posted.appReceipt,
            transactionReceipt: posted.transactionReceipt, deviceGUID: posted.deviceGUID,
            signedAppTransaction: posted.signedAppTransaction)
    }
}

extension PurchaseOrigin {
    fileprivate init(_ posted: PurchasesRequest) {
        self.init(
            placement: posted.placement, sdk: posted.sdk, storefront: posted.storefront)
    }
}

extension OwnershipClaim.Intent {
    /// Converts the word of a request. Throws a problem if the word is unknown: an unknown word
    /// could mean that no purchase may be moved away from another customer.
    init?(_ intent: PurchaseIntent?) throws {
        guard let intent else { return nil }
        guard let known = Self(rawValue: intent.rawValue) else {
            throw ProblemError(.intentUnknown)
        }
        self = known
    }
}

extension PostingResult {
    /// The failure of a posting without accepted documents: a temporary failure if there is one,
    /// otherwise the failure of the first refused document.
    fileprivate var firstFailure: EngineFailure {
        let failures = documents.compactMap { document -> EngineFailure? in
            if case .refused(let failure) = document.result { failure } else { nil }
        }
        return failures.first(where: \.isTemporary) ?? failures.first
            ?? .unreadable("No document was accepted.")
    }
}

extension EngineFailure {
    /// Whether the same document may be accepted later.
    fileprivate var isTemporary: Bool {
        if case .notYetVerifiable = self { true } else { false }
    }
}

extension DocumentOutcome {
    fileprivate init(_ outcome: PostingResult.Outcome) {
        let (word, failure): (Word, EngineFailure?) =
            switch outcome.result {
            case .kept: (.kept, nil)
            case .repeat: (.repeat, nil)
            case .refused(let failure): (failure.isTemporary ? .later : .refused, failure)
            }
        self.init(
            member: outcome.place.member.rawValue, index: outcome.place.index,
            transactionID: outcome.transaction?.rawValue, outcome: word,
            code: failure.map { ProblemError($0, subject: .purchases).problem.code })
    }
}
