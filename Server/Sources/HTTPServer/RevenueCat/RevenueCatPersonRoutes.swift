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

/// The routes of version 2 of RevenueCat's REST API about customers.
struct RevenueCatPersonRoutes: RouteGroup {
    let server: PerennialServer

    private typealias Gate = RevenueCatProjectGate

    private var gate: RevenueCatProjectGate { RevenueCatProjectGate(server: server) }

    private static let customers = RevenueCatProjectGate.project + "/customers"
    private static let customer = customers + "/{id}"

    var all: [Route] { reading + writing }

    private var reading: [Route] {
        [
            gate.keyed(.get, Self.customers, "revenueCatCustomers", for: .read, list),
            gate.keyed(.get, Self.customer, "revenueCatCustomer", for: .read, one),
            part("active_entitlements") { person, _ in person.subscriber.activeEntitlements },
            part("subscriptions") { $0.subscriber.subscriptionObjects(of: $1) },
            part("purchases") { $0.subscriber.purchaseObjects(of: $1) },
            part("virtual_currencies") { person, _ in
                RevenueCatOfferings.balances(person.balances)
            },
            gate.keyed(
                .get, Self.customer + "/aliases", "revenueCatCustomer_aliases", for: .read,
                aliases),
            gate.keyed(
                .get, Self.customer + "/attributes", "revenueCatCustomer_attributes", for: .read,
                attributes),
        ]
    }

    private var writing: [Route] {
        [
            gate.keyed(
                .post, Self.customer + "/attributes", "revenueCatCustomer_setAttributes",
                for: .support, setAttributes),
            gate.keyed(
                .post, Self.customer + "/actions/grant_entitlement", "revenueCatCustomer_grant",
                for: .support, grant),
            gate.keyed(
                .post, Self.customer + "/actions/revoke_granted_entitlement",
                "revenueCatCustomer_withdraw", for: .support, withdraw),
            gate.keyed(
                .post, Self.customer + "/actions/transfer", "revenueCatCustomer_transfer",
                for: .support, transfer),
            gate.keyed(
                .post, Self.customer + "/actions/assign_offering", "revenueCatCustomer_offering",
                for: .support, assignOffering),
            gate.keyed(.delete, Self.customer, "revenueCatCustomer_erase", for: .admin, erase),
        ]
    }

    // MARK: - Reading

    /// A known customer, in the form that the SDK reads.
    private struct Person {
        var subscriber: RevenueCatSubscriber
        var state: CustomerState
        /// The balance of each configured currency.
        var balances: [CurrencyID: Int64]
    }

    /// - Throws: ``RevenueCatMissing`` if nothing is stored about the customer. Version 1 of the
    ///   API does not report that.
    private func person(
        _ request: Request, _ context: ServerContext, _ app: AppID
    ) async throws -> Person {
        let id = try RequestReader.customerID(in: context)
        let state = try await engine.customers.find(
            id, app: app, environment: try Gate.environment(of: request))
        let isKnown = try await engine.customers.isKnown(id, app: app)
        guard isKnown || !state.purchases.isEmpty else {
            throw RevenueCatMissing(what: "customer")
        }
        let currencies = try engine.context.settings(of: app).wallets.allCurrencies
        return Person(
            subscriber: RevenueCatSubscriber(state), state: state,
            balances: Dictionary(
                uniqueKeysWithValues: currencies.map { ($0, state.balances[$0] ?? 0) }))
    }

    /// The customers in the order of their first ids.
    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let limit = try Gate.limit(of: request)
        let after = Gate.startingAfter(request).map(CustomerID.init(rawValue:))
        let ids = try await engine.customerLists.customers(
            of: holder.app, after: after, limit: limit + 1)
        let shown = Array(ids.prefix(limit))
        let states = try await engine.customers.currentStates(
            of: shown, app: holder.app, environment: try Gate.environment(of: request))
        var page = RevenueCatList(
            path: "\(project.path)/customers",
            items: states.map {
                RevenueCatSubscriber($0).customer(of: project, isAlone: false).value
            }, next: ids.count > limit ? shown.last?.rawValue : nil)
        page.query = try Gate.query(of: request)
        return try JSONResponse.ok(page.value)
    }

    @Sendable func one(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let person = try await person(request, context, holder.app)
        let attributes =
            Gate.expands("attributes", request)
            ? try await engine.attributes.all(of: person.state.id, app: holder.app) : nil
        return try JSONResponse.ok(
            person.subscriber.customer(of: project, isAlone: true, attributes: attributes).value)
    }

    /// A list that is made from the customer's state.
    private func part(
        _ name: String,
        _ objects: @escaping @Sendable (Person, RevenueCatProject) -> [RevenueCatObject]
    ) -> Route {
        gate.keyed(
            .get, "\(Self.customer)/\(name)", "revenueCatCustomer_\(name)", for: .read
        ) { request, context, holder, project in
            let person = try await person(request, context, holder.app)
            return try respond(objects(person, project), name, person.state.id, project, request)
        }
    }

    private func respond(
        _ objects: [RevenueCatObject], _ name: String, _ id: CustomerID,
        _ project: RevenueCatProject, _ request: Request
    ) throws -> Response {
        let path = RevenueCatSubscriber.path(of: id.rawValue, project)
        return try gate.respond(objects, at: "\(path)/\(name)", to: request)
    }

    @Sendable func aliases(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let person = try await person(request, context, holder.app)
        let ids = try await engine.customerLists.ids(of: person.state.id, app: holder.app)
        let objects = ids.map { id, since in
            RevenueCatObject(
                "customer.alias", id.rawValue,
                [
                    .init("id", .string(id.rawValue)),
                    .init("created_at", .integer(since.milliseconds)),
                ])
        }
        return try respond(objects, "aliases", person.state.id, project, request)
    }

    @Sendable func attributes(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let person = try await person(request, context, holder.app)
        let all = try await engine.attributes.all(of: person.state.id, app: holder.app)
        return try respond(
            RevenueCatSubscriber.objects(of: all), "attributes", person.state.id, project, request)
    }

    // MARK: - Writing

    private struct Settings: Decodable {
        var attributes: [Setting]

        struct Setting: Decodable {
            var name: String
            var value: String?

            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: MemberNames.Name.self)
                name = try members.decode(String.self, forKey: "name")
                value = try members.decodeNullable(String.self, forKey: "value")
            }
        }
    }

    @Sendable func setAttributes(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let asked = try await request.value(Settings.self, max: BodyLimit.attributes)
        let result = try await engine.attributes.change(
            asked.attributes.map { AttributeChange(name: $0.name, value: $0.value) }, of: id,
            by: .server, isWhole: true, app: holder.app)
        return try respond(
            RevenueCatSubscriber.objects(of: result.attributes), "attributes", id, project, request)
    }

    private struct Order: Decodable {
        var entitlementId: String
        var expiresAt: Int64?

        enum CodingKeys: String, CodingKey {
            case entitlementId = "entitlement_id"
            case expiresAt = "expires_at"
        }
    }

    @Sendable func grant(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let asked = try await request.value(Order.self, max: BodyLimit.order)
        let order = NewGrant(
            entitlement: EntitlementID(rawValue: asked.entitlementId),
            until: try asked.expiresAt.map(RevenueCatGrants.moment),
            reason: RevenueCatGrants.reason)
        _ = try await engine.grants.add(
            order, to: try RequestReader.customerID(in: context), app: holder.app,
            environment: try Gate.environment(of: request))
        return try await one(request, context, holder, project)
    }

    private struct Withdrawal: Decodable {
        var entitlementId: String

        enum CodingKeys: String, CodingKey {
            case entitlementId = "entitlement_id"
        }
    }

    @Sendable func withdraw(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let asked = try await request.value(Withdrawal.self, max: BodyLimit.order)
        try await RevenueCatGrants(server: server).withdraw(
            EntitlementID(rawValue: asked.entitlementId),
            of: try RequestReader.customerID(in: context), app: holder.app,
            environment: try Gate.environment(of: request))
        return try await one(request, context, holder, project)
    }

    private struct Offering: Decodable {
        /// Nil for the offering that is the current one for everybody. The JSON must have the
        /// member.
        var offeringId: String?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: MemberNames.Name.self)
            offeringId = try members.decodeNullable(String.self, forKey: "offering_id")
        }
    }

    @Sendable func assignOffering(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let asked = try await request.value(Offering.self, max: BodyLimit.order)
        let id = try RequestReader.customerID(in: context)
        do {
            try await RevenueCatOverride(server: server).choose(
                asked.offeringId, for: id, app: holder.app)
        } catch is RevenueCatProblem {
            throw RevenueCatMissing(what: "offering")
        }
        return try await one(request, context, holder, project)
    }

    private struct Target: Decodable {
        var targetCustomerId: String
        /// Ignored, because the project has one app.
        var appIds: [String]?

        enum CodingKeys: String, CodingKey {
            case targetCustomerId = "target_customer_id"
            case appIds = "app_ids"
        }
    }

    /// Moves every purchase that a customer owns to another customer, as support may do. Each
    /// purchase is moved separately, so a request that fails can be repeated.
    @Sendable func transfer(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let asked = try await request.value(Target.self, max: BodyLimit.order)
        let target = CustomerID(rawValue: asked.targetCustomerId)
        let environment = try Gate.environment(of: request)
        let source = try await person(request, context, holder.app).state
        guard target != source.id, !source.aliases.contains(target) else {
            throw ProblemError(
                .bodyNotUnderstood,
                detail: "target_customer_id is the same customer. Name another one.")
        }
        for purchase in source.purchases where purchase.isOwn {
            let change = OwnershipChange(
                purchase: purchase.timeline.purchase, reason: Self.transferReason)
            _ = try await engine.ownership.transfer(change, to: target, app: holder.app)
        }
        let after = try await engine.customers.currentStates(
            of: [source.id, target], app: holder.app, environment: environment)
        let objects = after.map {
            RevenueCatSubscriber($0).customer(of: project, isAlone: true).value
        }
        return try JSONResponse.ok(
            RevenueCatValue.object([
                .init("source_customer", objects[0]), .init("target_customer", objects[1]),
            ]))
    }

    private static let transferReason = "Transferred by RevenueCat's REST API."

    @Sendable func erase(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey,
        _ project: RevenueCatProject
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        _ = try await engine.customers.erase(id, app: holder.app)
        return try JSONResponse.ok(
            RevenueCatValue.object([
                .init("object", .string("customer")), .init("id", .string(id.rawValue)),
                .init("deleted_at", .integer(engine.context.serverTime.milliseconds)),
            ]))
    }
}
