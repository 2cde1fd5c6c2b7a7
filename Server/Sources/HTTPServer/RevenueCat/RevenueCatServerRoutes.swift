import Engine
import Hummingbird
import Ledger
import RevenueCatWebhooks
import RevenueCatWire
import Storage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The calls of version 1 of RevenueCat's REST API that only backends make, with a secret key of
/// ours. The calls that the SDK also makes are declared with the routes of the SDK.
struct RevenueCatServerRoutes: RouteGroup {
    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var all: [Route] {
        [
            gate.keyed(
                .delete, "/v1/subscribers/{id}", "revenueCatErase", from: .servers(.admin), erase),
            gate.keyed(
                .post, Self.entitlement + "/promotional", "revenueCatGrant",
                from: .servers(.support), grant),
            gate.keyed(
                .post, Self.entitlement + "/revoke_promotionals", "revenueCatWithdraw",
                from: .servers(.support), withdraw),
            gate.keyed(
                .post, Self.purchase + "/extend", "revenueCatExtend", from: .servers(.support),
                extend),
            gate.keyed(
                .post, "/v1/subscribers/{id}/offerings/{offering}/override",
                "revenueCatOverride", from: .servers(.support), override),
            gate.keyed(
                .delete, "/v1/subscribers/{id}/offerings/override", "revenueCatRemoveOverride",
                from: .servers(.support), removeOverride),
        ] + absent
    }

    private static let entitlement = "/v1/subscribers/{id}/entitlements/{entitlement}"
    private static let purchase = "/v1/subscribers/{id}/subscriptions/{purchase}"

    // MARK: - Grants

    private struct Order: Decodable {
        var endTimeMs: Int64?
        var startTimeMs: Int64?
        var duration: String?

        enum CodingKeys: String, CodingKey {
            case duration
            case endTimeMs = "end_time_ms"
            case startTimeMs = "start_time_ms"
        }
    }

    @Sendable func grant(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let asked = try await request.value(Order.self, max: BodyLimit.order)
        let order = NewGrant(
            entitlement: try Self.entitlement(in: context), until: try until(of: asked),
            reason: RevenueCatGrants.reason)
        _ = try await engine.grants.add(
            order, to: id, app: holder.app,
            environment: RevenueCatGate.environment(of: request))
        var response = try await gate.respond(
            try await gate.state(of: id, request, holder), to: holder)
        response.status = .created
        return response
    }

    /// Nil for a grant without an end.
    private func until(of order: Order) throws -> Instant? {
        if let end = order.endTimeMs { return try RevenueCatGrants.moment(end) }
        guard let duration = order.duration.flatMap(RevenueCatDuration.init) else {
            let known = RevenueCatDuration.allCases.map(\.rawValue).joined(separator: ", ")
            throw RevenueCatProblem(
                .badRequest, .badRequest, "Send end_time_ms, or a duration: \(known).")
        }
        let start = try order.startTimeMs.map(RevenueCatGrants.moment)
        let end = duration.until(after: start ?? engine.context.serverTime)
        return try end.map { try RevenueCatGrants.moment($0.milliseconds) }
    }

    @Sendable func withdraw(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await RevenueCatGrants(server: server).withdraw(
            try Self.entitlement(in: context), of: id, app: holder.app,
            environment: RevenueCatGate.environment(of: request))
        return try await gate.respond(
            try await gate.state(of: id, request, holder), to: holder)
    }

    private static func entitlement(in context: ServerContext) throws -> EntitlementID {
        EntitlementID(
            rawValue: try RequestReader.parameter(
                "entitlement", called: "entitlement", in: context))
    }

    // MARK: - Extensions

    private struct Extension: Decodable {
        var extendByDays: Int
        var extendReasonCode: Int

        enum CodingKeys: String, CodingKey {
            case extendByDays = "extend_by_days"
            case extendReasonCode = "extend_reason_code"
        }
    }

    /// Lets the App Store extend the renewal date of a subscription.
    @Sendable func extend(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let transaction = try RequestReader.parameter(
            "purchase", called: "transaction", in: context)
        let asked = try await request.value(Extension.self, max: BodyLimit.order)
        let (days, reasons) = (
            RenewalExtensionService.daysRange, RenewalExtensionService.reasonRange
        )
        guard days.contains(asked.extendByDays), reasons.contains(asked.extendReasonCode) else {
            throw RevenueCatProblem(
                .badRequest, .badRequest,
                "extend_by_days must be \(days.lowerBound) to \(days.upperBound), and "
                    + "extend_reason_code \(reasons.lowerBound) to \(reasons.upperBound).")
        }
        let outcome = try await engine.renewalExtensions.extend(
            TransactionID(rawValue: transaction), of: id, days: asked.extendByDays,
            reason: asked.extendReasonCode, key: try RequestReader.idempotencyKey(in: request),
            app: holder.app, environment: RevenueCatGate.environment(of: request))
        if let problem = RevenueCatProblem(outcome, at: engine.context.serverTime) {
            throw problem
        }
        return try await gate.respond(
            try await gate.state(of: id, request, holder), to: holder)
    }

    // MARK: - Offerings

    @Sendable func override(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let offering = try RequestReader.parameter("offering", called: "offering", in: context)
        return try await choose(offering, request, context, holder)
    }

    @Sendable func removeOverride(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await choose(nil, request, context, holder)
    }

    /// Makes an offering the current one for a customer; nil ends that.
    private func choose(
        _ offering: String?, _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await RevenueCatOverride(server: server).choose(offering, for: id, app: holder.app)
        var response = try await gate.respond(
            try await gate.state(of: id, request, holder), to: holder)
        response.status = .created
        return response
    }

    // MARK: - Erasing

    @Sendable func erase(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        _ = try await engine.customers.erase(id, app: holder.app)
        return try JSONResponse.ok(
            RevenueCatValue.object([
                .init("app_user_id", .string(id.rawValue)), .init("deleted", .bool(true)),
            ]))
    }

    // MARK: - What this server cannot do

    /// The routes of features that this server does not have. RevenueCat offers most of these
    /// features for Google Play only.
    private var absent: [Route] {
        let subscription = "Only Apple and the customer can end or change a subscription."
        return [
            refusing(.post, Self.purchase + "/revoke", subscription),
            refusing(.post, Self.purchase + "/defer", subscription),
            refusing(.post, Self.purchase + "/cancel", subscription),
            refusing(
                .post, "/v1/subscribers/{id}/transactions/{transaction}/refund",
                "Only Apple refunds purchases of the App Store. The customer asks Apple."),
        ]
    }

    private func refusing(
        _ method: HTTPRequest.Method, _ path: String, _ message: String
    ) -> Route {
        gate.keyed(method, path, "revenueCatAbsent", from: .servers(.support)) { _, _, _ in
            throw RevenueCatProblem(.badRequest, .badRequest, message)
        }
    }
}

/// A customer's own current offering. It is an attribute with a reserved name, so it is merged,
/// exported and erased with the customer's attributes.
struct RevenueCatOverride: RouteGroup {
    let server: PerennialServer

    /// Makes an offering the current one for a customer, or with nil the one for everybody.
    /// Idempotent.
    ///
    /// - Throws: ``RevenueCatProblem`` if no placement has this name.
    func choose(_ offering: String?, for id: CustomerID, app: AppID) async throws {
        let known = try engine.context.settings(of: app).offerings.placements.map(\.id.rawValue)
        if let offering, !known.contains(offering) {
            throw RevenueCatProblem(
                .notFound, .badRequest,
                "There is no offering \(EngineFailure.shortened(offering)). The offerings are: "
                    + "\(known.sorted().joined(separator: ", ")).")
        }
        _ = try await engine.attributes.change(
            [AttributeChange(name: RevenueCatOfferings.overrideName, value: offering)], of: id,
            by: .server, isWhole: true, app: app)
    }
}

/// Makes and withdraws grants for RevenueCat's routes, which name an entitlement instead of a
/// grant.
struct RevenueCatGrants: RouteGroup {
    static let reason = "Granted by RevenueCat's REST API."

    let server: PerennialServer

    /// From 1970 to the end of the year 9999. Dates in answers have years of four digits.
    private static let moments: ClosedRange<Int64> = 0...253_402_300_799_999

    /// A time of a request.
    static func moment(_ milliseconds: Int64) throws -> Instant {
        guard moments.contains(milliseconds) else {
            throw ProblemError(
                .requestNotUnderstood, detail: "A time must be in the years 1970 to 9999.")
        }
        return Instant(milliseconds: milliseconds)
    }

    /// Withdraws all open grants of an entitlement. Idempotent.
    func withdraw(
        _ entitlement: EntitlementID, of id: CustomerID, app: AppID, environment: Ledger.Environment
    ) async throws {
        let known = try engine.context.settings(of: app).entitlements.keys.sorted()
        guard known.contains(entitlement) else {
            throw EngineFailure.unknownEntitlement(entitlement, known: known)
        }
        let now = engine.context.serverTime
        let grants = try await engine.grants.all(of: id, app: app, environment: environment)
        for grant in grants where grant.entitlement == entitlement && grant.isOpen(at: now) {
            _ = try await engine.grants.withdraw(grant.id, of: id, app: app)
        }
    }
}

extension RevenueCatProblem {
    /// Why a renewal date was not extended. Nil if it was.
    fileprivate init?(_ outcome: RenewalExtensionOutcome, at now: Instant) {
        switch outcome {
        case .extended: return nil
        case .unknownSubscription:
            self.init(
                .notFound, .unknownSubscription,
                "The customer has no subscription of their own with this transaction.")
        case .notConfigured:
            self.init(
                .badRequest, .badRequest,
                "To extend renewal dates, add `app_store:` with an In-App Purchase key to "
                    + "perennial.yaml.")
        case .refused(let reason): self.init(.badRequest, .badRequest, reason)
        case .noResponse(let reason, let until):
            let wait = until.map { Int(max(1, ($0 - now).components.seconds)) }
            self.init(
                .serviceUnavailable, .storeProblem,
                "\(reason) Read the renewal date before you send the request again: perhaps the "
                    + "App Store has extended it.", retryAfter: wait)
        }
    }
}
