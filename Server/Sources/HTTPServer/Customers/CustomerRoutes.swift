import Engine
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that read, find, and erase customers.
struct CustomerRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}", "customer",
                    "What a customer has access to now, and why",
                    description: """
                        An unknown id gives a customer without purchases, not a 404; nothing is \
                        written. With If-None-Match, the response is 304 if the answer is still \
                        the one with that ETag.
                        """, parameters: [.proof, .environment, .ifNoneMatch, .wait],
                    output: .cacheable(Customer.self)),
                find),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.customers, "findCustomers",
                    "Find customers by an id, or the number of a transaction or order",
                    parameters: [
                        OpenAPIParameter(
                            name: "query", isRequired: true,
                            description: """
                                An id of a customer, or the account token of a purchase, or the id \
                                of a transaction, or the order id in the customer's mail, or the \
                                customer's mail address in their attributes.
                                """,
                            schema: [
                                "type": "string", "minLength": 1,
                                "maxLength": .integer(CustomerService.queryBytesMax),
                            ])
                    ], output: .json(CustomerList.self)), search),
            server.proven(
                for: .admin,
                OpenAPIOperation(
                    .delete, "/v1/customers/{id}", "erase", "Erase a customer",
                    description: """
                        Erases ids, links, grants, and debits. The purchases then belong to no \
                        customer. Idempotent. An app key needs a proof of identity.
                        """, output: .json(Erasure.self)), erase),
        ]
    }

    @Sendable func find(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let environment = try RequestReader.environment(in: request)
        let wait = try RequestReader.wait(in: request)
        let state = try await engine.customers.find(
            id, app: holder.app, environment: environment)
        let customer = try await server.answers.customer(in: state, for: holder)
        let tag = try CustomerTag(customer)
        let named = request.headers[.ifNoneMatch]
        guard tag.isNamed(in: named) else { return try tag.response(customer) }
        if let wait {
            let changed = try await server.waits.reserve(for: holder) {
                try await changedAnswer(about: state, within: wait, for: holder, context) {
                    try CustomerTag($0).isNamed(in: named)
                }
            }
            try await server.authorization.requireKey(after: request)
            if let changed { return try CustomerTag(changed).response(changed) }
        }
        return Response(status: .notModified, headers: [.eTag: tag.text])
    }

    @Sendable func search(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        guard let query = request.uri.queryParameters["query"], !query.isEmpty else {
            throw ProblemError(.queryMissing)
        }
        let search = try await engine.customers.find(typed: String(query), app: holder.app)
        return try JSONResponse.ok(CustomerList(search))
    }

    @Sendable func erase(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let erased = try await engine.customers.erase(id, app: holder.app)
        return try JSONResponse.ok(
            PerennialContract.Erasure(unlinkedPurchases: erased.purchases))
    }
}

extension CustomerList {
    init(_ search: CustomerSearch) {
        self.init(items: search.found.map(Found.init))
        switch search.store {
        case .notQueried: appStore = .notAsked
        case .answered(let originals): (appStore, originalTransactionIDs) = (.answered, originals)
        case .notConfigured: appStore = .notConfigured
        case .failed: appStore = .failed
        }
    }
}

extension CustomerList.Found {
    init(_ found: FoundCustomer) {
        let customer = found.customer
        self.init(
            customerID: customer?.customer.rawValue,
            aliases: customer?.ids.filter { $0 != customer?.customer }.map(\.rawValue) ?? [],
            by: found.by.rawValue, purchaseID: found.purchase?.description)
    }
}
