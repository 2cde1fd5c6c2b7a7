import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PerennialServer {
    var purchaseRoutes: [Route] {
        [
            keyed(
                for: .support,
                OpenAPIOperation(
                    .post, Paths.purchases, "postPurchases",
                    "Post a device's purchases for a customer",
                    description: """
                        Responds with the customer, in the environment of the documents. \
                        Idempotent: a document that is known already changes nothing. With an \
                        intent, documents that are refused do not fail the others: outcomes says \
                        what became of each.
                        """, parameters: [.proof], input: PurchasesRequest.self,
                    output: .json(Customer.self)), purchases),
            keyed(
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

    var notificationRoutes: [Route] {
        [
            open(
                OpenAPIOperation(
                    .post, Paths.notifications, "receiveNotification",
                    "Receive an App Store notification of version 2 or 1",
                    description: """
                        Responds 200 once it is recorded durably, also for a repeat. Idempotent. \
                        4xx only for what can never be accepted; 5xx for problems of this server, \
                        so that the App Store sends it again.
                        """, input: NotificationBody.self, output: .object("Recorded.")),
                notification)
        ]
    }

    /// Responds 200 only if the notification is recorded durably, now or earlier.
    @Sendable func notification(_ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        context.bodyShare?.useNotificationReserve()
        let body = try await request.bytes(max: BodyLimit.notification)
        do {
            let receipt = try await engine.record(
                notification: Array(body.readableBytesView),
                contentType: request.headers[.contentType])
            logger.debug(
                "notification recorded",
                metadata: [
                    "app": .string(receipt.app.rawValue),
                    "document": .string(receipt.document.rawValue),
                    "repeat": .stringConvertible(receipt.isRepeat),
                    "request_id": .string(context.requestID),
                ])
        } catch {
            throw ProblemError(error, subject: .notification)
        }
        return JSONResponse.text(ByteBuffer(string: "{}"), mediaType: "application/json")
    }

    @Sendable func purchases(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let posted = try await request.purchases(PurchasesRequest.self)
        let evidence = PurchaseEvidence(posted)
        guard !evidence.isEmpty else {
            throw ProblemError(.purchasesMissing)
        }
        let id = CustomerID(rawValue: posted.customerID)
        try await requireProof(of: id, request.headers, holder)
        let intent = try OwnershipClaim.Intent(posted.intent)
        let posting: PostingResult
        do {
            posting = try await engine.post(
                evidence, of: id, intent: intent, boughtAt: PurchaseOrigin(posted),
                app: holder.app, isByApp: holder.kind == .app)
        } catch {
            throw ProblemError(error, subject: .purchases)
        }
        return try await respond(to: posting, intent, holder)
    }

    /// Responds with the customer after a posting, or with the problem of a posting of which
    /// nothing was accepted or something was refused.
    private func respond(
        to posting: PostingResult, _ intent: OwnershipClaim.Intent?, _ holder: StoredKey
    ) async throws -> Response {
        let outcomes = intent == nil ? nil : posting.documents.map { DocumentOutcome($0) }
        guard let state = posting.state, posting.documents.contains(where: \.isAccepted) else {
            var error = ProblemError(posting.firstFailure, subject: .purchases)
            error.problem.outcomes = outcomes
            throw error
        }
        var customer = try await customer(in: state, for: holder)
        customer.add(posting.ownerships.map { PurchaseVerdict($0) })
        customer.outcomes = outcomes
        if let refusal = posting.refusal(for: intent) {
            var error = ProblemError(refusal, subject: .purchases)
            error.problem.customer = customer
            throw error
        }
        return try JSONResponse.ok(customer)
    }

    /// Responds with a value about the customer in the path, for the environment in the query.
    func respond<Answer: Encodable>(
        _ request: Request, _ context: ServerContext,
        _ body: (CustomerID, Ledger.Environment) async throws -> Answer
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let environment = try Self.environment(in: request)
        return try JSONResponse.ok(try await body(id, environment))
    }

    static func customerID(in context: ServerContext) throws -> CustomerID {
        CustomerID(rawValue: try parameter("id", called: "customer id", in: context))
    }

    /// Returns the decoded value of a path parameter.
    ///
    /// - Parameter name: what an error message calls the parameter.
    static func parameter(
        _ parameter: String, called name: String, in context: ServerContext
    ) throws -> String {
        let segment = context.parameters.get(parameter)
        // Most ids are plain. Foundation takes longer to find that out than everything else.
        if let segment, !segment.utf8.contains(UInt8(ascii: "%")) { return segment }
        guard let text = segment?.removingPercentEncoding else {
            throw ProblemError(.pathNotDecodable(name))
        }
        return text
    }

    /// Returns the environment in the query. The sandbox must be named explicitly, so that unpaid
    /// purchases never look like paid ones.
    static func environment(in request: Request) throws -> Ledger.Environment {
        guard request.uri.query != nil,
            let name = request.uri.queryParameters["environment"]
        else { return .production }
        guard let environment = Ledger.Environment(rawValue: String(name)) else {
            throw ProblemError(.environmentUnknown)
        }
        return environment
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
    /// Throws a problem if the word is unknown: it could be one that takes nothing from anybody.
    init?(_ intent: PurchaseIntent?) throws {
        guard let intent else { return nil }
        guard let known = Self(rawValue: intent.rawValue) else {
            throw ProblemError(.intentUnknown)
        }
        self = known
    }
}

extension PostingResult {
    /// What to tell about a posting of which nothing was accepted: what can be repeated later, or
    /// else the first document that was refused.
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
