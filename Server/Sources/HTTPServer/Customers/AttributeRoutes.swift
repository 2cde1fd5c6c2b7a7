import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that read and change what apps say about customers.
struct AttributeRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/attributes", "attributes",
                    "What the app says about a customer", output: .json(AttributeList.self)), list),
            server.proven(
                for: .support,
                OpenAPIOperation(
                    .patch, "/v1/customers/{id}/attributes", "changeAttributes",
                    "Set and delete attributes of a customer",
                    description: """
                        Idempotent. Either all changes are accepted, or none. An app key needs a \
                        proof of identity, unless the customer is anonymous.
                        """, input: AttributesRequest.self, output: .json(AttributeList.self)),
                change),
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        return try JSONResponse.ok(
            AttributeList(try await engine.attributes.all(of: id, app: holder.app)))
    }

    /// With an app key, the response contains only the values that the request has set, because
    /// other values may be notes of the support team.
    @Sendable func change(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let asked =
            holder.kind == .secret
            ? try await request.value(AttributesRequest.self, max: BodyLimit.attributes)
            : try await request.lenientValue(AttributesRequest.self, max: BodyLimit.attributes)
        let result = try await engine.attributes.change(
            asked.attributes.map(AttributeChange.init), of: id,
            by: CustomerAttribute.Author(holder), isWhole: true, app: holder.app)
        let shown =
            holder.kind == .secret
            ? result.attributes
            : result.attributes.filter { attribute in
                attribute.author == .app
                    && asked.attributes.contains {
                        $0.name == attribute.name && $0.value == attribute.value
                    }
            }
        return try JSONResponse.ok(AttributeList(shown))
    }
}

extension CustomerAttribute.Author {
    init(_ holder: StoredKey) {
        switch holder.kind {
        case .app: self = .app
        case .secret: self = .server
        }
    }
}

extension AttributeChange {
    fileprivate init(_ asked: AttributeSetting) {
        self.init(
            name: asked.name, value: asked.value,
            updatedAt: asked.at.map { Instant(milliseconds: $0.milliseconds) })
    }
}

extension AttributeList {
    /// Leaves out deletions, which have no value.
    init(_ attributes: [CustomerAttribute]) {
        self.init(
            items: attributes.compactMap { attribute in
                attribute.value.map {
                    Attribute(
                        name: attribute.name, value: $0, at: Timestamp(attribute.updatedAt),
                        author: attribute.author.rawValue)
                }
            })
    }
}
