import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes about consent, and about how purchases were used.
struct ConsumptionRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/consumption", "consumption",
                    "Consent, Apple's requests, and the responses", parameters: [.environment],
                    output: .json(ConsumptionOverview.self)), overview),
            server.proven(
                for: .support,
                OpenAPIOperation(
                    .put, "/v1/customers/{id}/consumption", "recordConsumption",
                    "Report a customer's consent, and how purchases were used",
                    description: """
                        Idempotent. Waiting requests of Apple are processed again. An app key \
                        needs a proof of identity, and can report `consented` only.
                        """,
                    parameters: [.environment], input: ConsumptionRequest.self,
                    output: .json(ConsumptionOverview.self)), update),
        ]
    }

    @Sendable func overview(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await server.answers.respond(request, context) { id, environment in
            ConsumptionOverview(
                try await engine.consumption.state(
                    of: id, app: holder.app, environment: environment))
        }
    }

    @Sendable func update(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        guard holder.kind == .secret else { return try await consent(request, context, holder) }
        return try await server.answers.respond(request, context) { id, environment in
            let asked = try await request.value(ConsumptionRequest.self, max: BodyLimit.consumption)
            return ConsumptionOverview(
                try await engine.consumption.record(
                    try ConsumptionReport(asked), of: id, app: holder.app,
                    environment: environment))
        }
    }

    /// Records consent that a customer gives or withdraws in the app. Only the app's server may
    /// report how purchases were used, because Apple bases decisions about refunds on such reports.
    private func consent(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await server.answers.respond(request, context) { id, environment in
            let asked = try await request.lenientValue(
                ConsumptionRequest.self, max: BodyLimit.consumption)
            guard asked.sampleContentProvided == nil, asked.purchases?.isEmpty ?? true else {
                throw ProblemError(.reportNotFromServer)
            }
            var state = try await engine.consumption.record(
                ConsumptionReport(isConsentGiven: asked.consented, keepsSample: true), of: id,
                app: holder.app, environment: environment, isByApp: true)
            // The response to an app omits the reports of the app's server, and Apple's requests
            // with our responses.
            (state.uses, state.inquiries) = ([], [])
            state.consent?.hadSample = nil
            return ConsumptionOverview(state)
        }
    }
}

extension ConsumptionReport {
    /// Converts a request to the engine's form.
    ///
    /// - Throws: ``ProblemError`` if the delivery is an unknown word, or if the used part is not a
    ///   percentage.
    init(_ asked: ConsumptionRequest) throws {
        self.init(
            isConsentGiven: asked.consented, hadSample: asked.sampleContentProvided,
            uses: try (asked.purchases ?? []).map(Self.purchaseUse))
    }

    private static func purchaseUse(_ told: PerennialContract.PurchaseUse) throws
        -> Ledger.PurchaseUsage
    {
        guard let delivery = Delivery(rawValue: told.delivery) else {
            throw ProblemError(
                .deliveryUnknown(told.delivery, known: Delivery.allCases.map(\.rawValue)))
        }
        if let percent = told.usedPercent, !(0...100).contains(percent) {
            throw ProblemError(.usedPercentOutOfRange)
        }
        return Ledger.PurchaseUsage(
            transaction: TransactionID(rawValue: told.transactionID), delivery: delivery,
            used: told.usedPercent.map(Percentage.thousandths(ofPercent:)))
    }
}

extension ConsumptionOverview {
    init(_ state: ConsumptionState) {
        self.init(
            consented: state.consent?.isGiven, consentedAt: state.consent.map { Timestamp($0.at) },
            sampleContentProvided: state.consent?.hadSample,
            purchases: state.uses.map { use in
                PerennialContract.PurchaseUse(
                    transactionID: use.transaction.rawValue, delivery: use.delivery.rawValue,
                    usedPercent: use.used.map(Percentage.percent))
            }, requests: state.inquiries.map { PerennialContract.ConsumptionQuestion($0) })
    }
}

extension PerennialContract.ConsumptionQuestion {
    fileprivate init(_ stored: StoredConsumptionInquiry) {
        let question = stored.inquiry
        self.init(
            transactionID: question.transaction.rawValue, productID: question.product.rawValue,
            reason: question.reason, askedAt: Timestamp(question.askedAt),
            answerUntil: Timestamp(question.deadline), state: stored.state.rawValue,
            attempts: stored.attempts, endedAt: stored.endedAt.map { Timestamp($0) },
            trouble: stored.lastError,
            answer: stored.response.map { answer in
                PerennialContract.ConsumptionAnswer(
                    delivery: answer.delivery.rawValue,
                    usedPercent: answer.used.map(Percentage.percent),
                    sampleContentProvided: answer.hadSample,
                    refundPreference: answer.preference?.rawValue)
            })
    }
}
