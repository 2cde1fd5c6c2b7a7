public import Foundation
public import Perennial

// MARK: - Requests and prompts in a world

extension World {
    /// The requests that devices have sent to the server, such as `POST /v1/purchases`.
    public nonisolated var requests: [String] { gate.requests }

    /// The requests that reached the server.
    public nonisolated var passedRequests: [String] { gate.passed.map(\.name) }

    /// The requests with purchases that reached the server, in order: the transactions in each
    /// request.
    public nonisolated var postings: [[PostedTransaction]] {
        gate.passed.filter { $0.name == "POST /v1/purchases" }.map { request in
            let body = try? JSONDecoder().decode(Posting.self, from: request.body)
            return (body?.signedTransactions ?? []).compactMap(PostedTransaction.init)
        }
    }

    private struct Posting: Decodable {
        let signedTransactions: [String]?

        enum CodingKeys: String, CodingKey { case signedTransactions = "signed_transactions" }
    }

    /// The address of the server for an app that runs in another process as one of the devices.
    package nonisolated func address(for device: Device) -> URL {
        gate.url(for: device.id, KillSwitch())
    }

    /// The sheets and password prompts of all devices.
    public func prompts() async throws -> [Device.Prompt] {
        var prompts: [Device.Prompt] = []
        for device in devices { prompts += try await device.prompts() }
        return prompts
    }
}

/// A signed transaction as a device has posted it.
public struct PostedTransaction: Decodable, Hashable, Sendable {
    public let transactionId: String
    public let productId: String
    /// When Apple signed this document, in milliseconds since 1970.
    public let signedDate: Int64
    public let purchaseDate: Int64

    init?(_ jws: String) {
        let parts = jws.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        guard let payload = Data(base64Encoded: text),
            let value = try? JSONDecoder().decode(Self.self, from: payload)
        else { return nil }
        self = value
    }
}

// MARK: - Keys and offerings of the server

extension World {
    /// The keys that sign the server's tokens, for `Perennial.Configuration.trustedKeys`.
    public nonisolated func trustedKeys() async throws -> [Perennial.PublicKey] {
        let published = Routes(base: server.appendingPathComponent(".well-known"))
        return try await published.get("jwks.json", as: Keys.self).keys
            .map { Perennial.PublicKey(id: $0.kid, x: $0.x, y: $0.y) }
    }

    private struct Keys: Decodable { let keys: [Key] }
    private struct Key: Decodable { let kid, x, y: String }

    /// A file with the offerings, for `Perennial.Configuration.bundledOfferings`.
    public nonisolated func bundledOfferings() async throws -> URL {
        let file = folder.appendingPathComponent("offerings.json")
        try await bytes(of: "v1/offerings").write(to: file)
        return file
    }

    /// What the server knows about a customer: the answer of `GET /v1/customers/{id}`.
    /// ``serverIs(_:)`` does not affect this request.
    public nonisolated func serverTruth(of customer: String) async throws -> ServerTruth {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(
            ServerTruth.self, from: try await bytes(of: "v1/customers/\(customer)"))
    }

    /// The attributes of a customer on the server. ``serverIs(_:)`` does not affect this request.
    /// Throws for a world to which this process has only connected.
    public nonisolated func attributes(
        of customer: String
    ) async throws -> [Perennial.AttributeName: String] {
        guard let program else { throw WorldFailure("This process did not start the world.") }
        let routes = Routes(base: server, key: program.secretKey)
        let list = try await routes.get(
            "v1/customers/\(customer)/attributes", as: StoredAttributes.self)
        return Dictionary(
            list.items.map { (.init(rawValue: $0.name), $0.value) }, uniquingKeysWith: { $1 })
    }

    private struct StoredAttributes: Decodable {
        let items: [Attribute]
        struct Attribute: Decodable { let name, value: String }
    }

    private nonisolated func bytes(of path: String) async throws -> Data {
        try await Routes(base: server, key: key).data(path)
    }
}

/// The parts of the server's answer about one customer that tests compare.
public struct ServerTruth: Decodable, Sendable {
    public let entitlements: [String: Entitlement]
    public let wallets: [String: Wallet]

    public struct Entitlement: Decodable, Sendable {
        public let active: Bool
        public let state: String
    }

    public struct Wallet: Decodable, Sendable {
        public let balance: Int
    }

    public func isOpen(_ entitlement: String) -> Bool { entitlements[entitlement]?.active ?? false }
    public func balance(of wallet: String) -> Int { wallets[wallet]?.balance ?? 0 }
}
