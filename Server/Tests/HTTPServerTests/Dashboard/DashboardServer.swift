import AppStoreFormats
import AppStoreTrust
import AsyncHTTPClient
import Engine
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOHTTP1
import PerennialContract
import Signing
import StorageSQLite
import Testing

@testable import HTTPServer

/// A server with a dashboard, for an app that trusts the test's signatures. Requests come from a
/// browser on this machine unless a test says otherwise.
struct DashboardServer {
    static let token = "0000000000000001" + "0000000000000002"

    let client: any TestClientProtocol
    let engine: Engine
    let signer: Signer

    /// The developer's access to the dashboard, whose forms contain the token.
    static var developer: DashboardAccess {
        // These two little-endian numbers are the bytes of the token.
        .developer(random: (UInt64(1).byteSwapped, UInt64(2).byteSwapped))
    }

    /// - Parameter access: who may use the dashboard.
    /// - Parameter webhooks: the function that posts webhooks.
    /// - Parameter reading: the function that reads pasted configurations.
    /// - Parameter backup: the state of the backups; nil if the server makes none.
    static func run(
        as access: DashboardAccess = developer, on setup: TestingSetup = .router,
        streams limits: EventStreamLimits = EventStreamLimits(),
        webhooks: WebhookTransport = .disabled, reading: ProposedConfiguration.Reading? = nil,
        backup: BackupState? = nil, with change: (inout AppSettings) -> Void = { _ in },
        _ body: @escaping @Sendable (DashboardServer) async throws -> Void
    ) async throws {
        let authority = try Authority()
        let signer = try authority.signer()
        var birds = ListeningServer.birds
        birds.webhooks.allowsLoopback = true
        change(&birds)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let engine = Engine(
            database: try SQLiteDriver.inMemory(), apps: [birds],
            verifiers: [
                birds.id: Verifier(roots: try TrustRoots(der: [try authority.root.der]))
            ], now: { TestServer.now }, webhooks: webhooks, logger: logger)
        try await engine.prepare()
        try await engine.keys.add(
            key: TestServer.secret, app: birds.id, kind: .secret, name: "test")
        var server = PerennialServer(engine: engine, logger: logger, streamLimits: limits)
        server.dashboard = access
        server.readsConfiguration = reading
        if let backup { server.readsBackups = { backup } }
        try await server.application(host: "127.0.0.1", port: 0).test(setup) { client in
            try await body(DashboardServer(client: client, engine: engine, signer: signer))
        }
    }

    // MARK: - A browser

    func get(_ path: String, headers: HTTPFields = [:]) async throws -> TestServer.Answer {
        try await send(.get, path, headers: headers)
    }

    /// Sends a form with its form token.
    func post(
        _ path: String, _ fields: [String: String] = [:], token: String? = token,
        headers: HTTPFields = [:]
    ) async throws -> TestServer.Answer {
        var fields = fields
        fields["csrf"] = token
        let form = fields.map { "\($0)=\(Paths.percentEncoded($1))" }.joined(separator: "&")
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await send(.post, path, headers: headers, body: form)
    }

    /// Sends a request to the HTTP API, as the server of an app does.
    func api<Value: Decodable>(_ path: String, _ type: Value.Type = Value.self) async throws
        -> Value
    {
        let answer = try await send(
            .get, path, headers: [.authorization: "Bearer \(TestServer.secret)"])
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decoded()
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, headers: HTTPFields, body: String? = nil
    ) async throws -> TestServer.Answer {
        let content = body.map { ByteBuffer(string: $0) }
        if let port = client.port {
            return try await send(method, path, headers: headers, body: content, to: port)
        }
        let response = try await client.execute(
            uri: path, method: method, headers: headers, body: content)
        return TestServer.Answer(
            status: response.status.code, headers: response.headers,
            text: String(buffer: response.body))
    }

    /// How long a busy machine may need for an answer. Hummingbird's own client gives up after 20
    /// seconds.
    private static let answerLimit = TimeAmount.minutes(4)
    private static let answerBytesMax = 16 << 20

    /// Sends a request over the network to the listening server.
    private func send(
        _ method: HTTPRequest.Method, _ path: String, headers: HTTPFields, body: ByteBuffer?,
        to port: Int
    ) async throws -> TestServer.Answer {
        var request = HTTPClientRequest(url: "http://localhost:\(port)\(path)")
        request.method = HTTPMethod(rawValue: method.rawValue)
        for field in headers { request.headers.add(name: field.name.rawName, value: field.value) }
        request.body = body.map { .bytes($0) }
        let response = try await HTTPClient.shared.execute(request, timeout: Self.answerLimit)
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        let text = try await response.body.collect(upTo: Self.answerBytesMax)
        return TestServer.Answer(
            status: Int(response.status.code), headers: fields, text: String(buffer: text))
    }

    // MARK: - Purchases

    /// Records that a customer bought a month of pro, or a consumable pack of seeds.
    ///
    /// - Parameter milliunits: the price of the month, in thousandths of the currency's unit.
    func buy(
        _ id: String, transaction: String, seeds isSeeds: Bool = false, milliunits: Int64 = 9_990,
        currency: String = "USD"
    ) async throws {
        let payload =
            try isSeeds
            ? Self.seeds(transaction) : Self.payload(of: transaction, milliunits, currency)
        let body = try ContractEncoder().encode(
            PurchasesRequest(
                customerID: id, intent: .sync,
                signedTransactions: [try signer.text(payload)]))
        let response = try await client.execute(
            uri: Paths.purchases, method: .post,
            headers: [.authorization: "Bearer \(TestServer.secret)"],
            body: ByteBuffer(bytes: body))
        try #require(response.status == .ok, "\(String(buffer: response.body))")
    }

    /// Sends a notification about a purchased month, as Apple's server does.
    func notify(_ type: NotificationType, of transaction: String) async throws {
        var data = NotificationData()
        data.bundleId = "com.example.birds"
        data.environment = .production
        data.signedTransactionInfo = try signer.text(try Self.payload(of: transaction))
        var payload = NotificationPayload()
        payload.notificationType = type
        payload.notificationUUID = "6f9619ff-8b86-4011-b42d-\(transaction)"
        payload.version = "2.0"
        payload.signedDate = AppStoreDate(milliseconds: TestServer.now.milliseconds - 90_000)
        payload.data = data
        let body: JSON = ["signedPayload": .string(try signer.text(payload.json))]
        let response = try await client.execute(
            uri: Paths.notifications, method: .post, body: ByteBuffer(bytes: body.bytes))
        try #require(response.status == .ok, "\(String(buffer: response.body))")
    }

    private static func seeds(_ transaction: String) throws -> JSON {
        let now = TestServer.now.milliseconds
        return try JSON(
            parsing: Array(
                """
                {"transactionId": "\(transaction)", "originalTransactionId": "\(transaction)",
                "bundleId": "com.example.birds", "productId": "seeds.100", "quantity": 1,
                "purchaseDate": \(now - 86_400_000), "originalPurchaseDate": \(now - 86_400_000),
                "type": "Consumable", "inAppOwnershipType": "PURCHASED",
                "signedDate": \(now - 86_400_000), "environment": "Production",
                "transactionReason": "PURCHASE", "storefront": "USA", "storefrontId": "143441",
                "price": 990, "currency": "USD"}
                """.utf8))
    }

    /// The payload of a month that was bought a day ago.
    private static func payload(
        of transaction: String, _ milliunits: Int64 = 9_990, _ currency: String = "USD"
    ) throws -> JSON {
        let now = TestServer.now.milliseconds
        return try JSON(
            parsing: Array(
                """
                {"transactionId": "\(transaction)", "originalTransactionId": "\(transaction)",
                "webOrderLineItemId": "\(transaction)1", "bundleId": "com.example.birds",
                "productId": "pro.monthly", "subscriptionGroupIdentifier": "21", "quantity": 1,
                "purchaseDate": \(now - 86_400_000), "originalPurchaseDate": \(now - 86_400_000),
                "expiresDate": \(now + 29 * 86_400_000), "type": "Auto-Renewable Subscription",
                "inAppOwnershipType": "PURCHASED", "signedDate": \(now - 86_400_000),
                "environment": "Production", "transactionReason": "PURCHASE",
                "storefront": "USA", "storefrontId": "143441", "price": \(milliunits),
                "currency": "\(currency)"}
                """.utf8))
    }
}
