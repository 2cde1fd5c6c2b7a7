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

/// Attributes in the form that RevenueCat's SDK, or a client of its REST API, posts.
struct RevenueCatAttributes: Decodable {
    private var attributes: Entries

    /// Each attribute, by its name.
    typealias Entries = [String: Entry]

    struct Entry: Decodable {
        fileprivate var value: String?
        fileprivate var updatedAtMs: Int64?
        /// Whether the JSON has the member `value`.
        fileprivate(set) var hasValue: Bool

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: MemberNames.Name.self)
            hasValue = members.contains("value")
            value = try members.decodeIfPresent(String.self, forKey: "value")
            updatedAtMs = try members.decodeIfPresent(Int64.self, forKey: "updatedAtMs")
        }
    }

    /// The first attribute whose JSON has no member `value`, perhaps because it is misspelt.
    var nameWithoutValue: String? { attributes.filter { !$0.value.hasValue }.keys.min() }

    /// - Throws: ``ProblemError`` that names the attribute, if there is one.
    static func requireValue(for name: String?) throws {
        guard let name else { return }
        throw ProblemError(
            .bodyNotUnderstood,
            detail: "attributes.\(EngineFailure.shortened(name)).value is missing.")
    }

    var changes: [AttributeChange] { Self.changes(attributes) }

    /// The changes, ordered by name.
    static func changes(_ entries: Entries) -> [AttributeChange] {
        entries.sorted { $0.key < $1.key }.map { name, entry in
            AttributeChange(
                name: name, value: entry.value,
                updatedAt: entry.updatedAtMs.map(Instant.init(milliseconds:)))
        }
    }
}

/// The route by which RevenueCat's SDK, and backends, post attributes.
struct RevenueCatAttributeRoutes: RouteGroup {
    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var all: [Route] {
        gate.about(
            .post, "/attributes", "revenueCatAttributes", from: .both(.support),
            finality: .attributes, change)
    }

    /// The SDK regards the attributes as sent after any response except 404 and 5xx. Valid
    /// attributes are stored. The response names the invalid ones.
    @Sendable func change(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let posted = try await RevenueCatGate.value(
            RevenueCatAttributes.self, of: request, max: BodyLimit.attributes)
        if holder.kind == .secret {
            try RevenueCatAttributes.requireValue(for: posted.nameWithoutValue)
        }
        let changes = posted.changes
        let isAllowed = try await mayWrite(about: id, holder)
        guard changes.isEmpty || isAllowed else {
            throw RevenueCatProblem(
                refused: changes.map { .init(name: $0.name, why: Self.notProven) })
        }
        let result = try await engine.attributes.change(
            changes, of: id, by: CustomerAttribute.Author(holder), isWhole: false, app: holder.app)
        guard result.refused.isEmpty else { throw RevenueCatProblem(refused: result.refused) }
        guard holder.kind == .secret else {
            return try JSONResponse.ok(RevenueCatValue.object([]))
        }
        return try await gate.respond(
            try await gate.state(of: id, request, holder), to: holder)
    }

    private static let notProven =
        "Not stored: nothing proves whose device this is. If nobody can guess the ids of your "
        + "customers, set unproven_attributes below revenuecat in perennial.yaml."

    /// Whether a request may change attributes of a customer. The rules of our own route apply. In
    /// addition, a setting of the app can permit such changes. If the app requires proofs, the
    /// caller of this function has checked them.
    private func mayWrite(about id: CustomerID, _ holder: StoredKey) async throws -> Bool {
        if holder.kind == .secret || engine.customers.requiresProof(holder.app) { return true }
        if try engine.context.settings(of: holder.app).revenueCat.takesUnprovenAttributes {
            return true
        }
        return try await engine.customers.isOnlyAnonymous(id, app: holder.app)
    }

    /// Stores attributes that were posted with a purchase, if the rules for attributes permit it.
    /// Attributes never make the purchase fail, because the SDK would then post the purchase again
    /// forever.
    func record(
        _ changes: [AttributeChange], of id: CustomerID, _ holder: StoredKey
    ) async throws {
        guard !changes.isEmpty, try await mayWrite(about: id, holder) else { return }
        do {
            _ = try await engine.attributes.change(
                changes, of: id, by: CustomerAttribute.Author(holder), isWhole: false,
                app: holder.app)
        } catch {
            switch error {
            case .limitExceeded, .growthBudgetExhausted, .invalidCustomerID: return
            default: throw error
            }
        }
    }
}
