import AppStoreFormats
import Synchronization

@testable import Simulator

/// A simulator for one test, with a letter box in place of the server.
struct Stage: Sendable {
    let simulator: AppStoreSimulator
    let letterBox: LetterBox

    /// One authority for all tests: making certificates takes longer than a test.
    static let authority = Result { try SigningAuthority() }
    static let noon = "2026-01-10T20:00:00Z"

    init(
        now: String = noon, shop: StoreKitFile? = nil,
        _ change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws {
        let letterBox = LetterBox()
        var settings = SimulatorSettings(
            now: try moment(now), shop: try shop ?? ExampleShop.file(), notificationURL: "box")
        change(&settings)
        self.letterBox = letterBox
        simulator = AppStoreSimulator(
            settings, authority: try Self.authority.get(),
            post: { _, body in letterBox.take(body) })
    }

    /// Buys on anna's first device. Creates the device if she has none.
    @discardableResult
    func buy(
        _ product: String, offer: String? = nil, on device: String = "anna-1"
    ) async throws -> PurchasedTransaction {
        if await !simulator.world.devices.keys.contains(device) {
            try await simulator.addDevice(account: "anna")
        }
        return try await simulator.purchase(PurchaseOrder(product, offerID: offer), on: device)
    }

    func advance(_ duration: String) async throws {
        let duration = try require(ISODuration(duration), "\(duration) is no duration")
        try await simulator.advance(by: duration)
    }

    func advance(to time: String) async throws { try await simulator.advance(to: moment(time)) }

    /// All notifications as `TYPE/SUBTYPE status product`.
    func story() async throws -> [String] {
        try await simulator.notifications.map { try Letter($0.signedPayload).line }
    }

    func letters() async throws -> [Letter] {
        try await simulator.notifications.map { try Letter($0.signedPayload) }
    }

    /// Anna's only purchase in the books.
    func truth() async throws -> TruePurchase {
        let books = try await simulator.groundTruth(of: "anna")
        return try require(books.purchases.first, "anna has bought nothing")
    }
}

/// Accepts posted notifications, and responds as a test says.
final class LetterBox: Sendable {
    private struct State {
        var bodies: [[UInt8]] = []
        var answers: [PostResult] = []
        var otherwise = PostResult(status: 200)
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.bodies.count) }

    /// The notifications in the order in which they were posted.
    var bodies: [[UInt8]] { state.withLock(\.bodies) }

    var letters: [Letter] {
        get throws {
            try state.withLock(\.bodies).map { body in
                let body = try NotificationBody(parsing: body)
                return try Letter(require(body.signedPayload, "no signedPayload"))
            }
        }
    }

    /// The response to all later notifications, once the given responses are used up.
    func answer(_ answers: [PostResult] = [], otherwise: PostResult = PostResult(status: 200)) {
        state.withLock { state in
            state.answers = answers
            state.otherwise = otherwise
        }
    }

    func take(_ body: [UInt8]) -> PostResult {
        state.withLock { state in
            state.bodies.append(body)
            return state.answers.isEmpty ? state.otherwise : state.answers.removeFirst()
        }
    }
}

/// A decoded notification.
struct Letter: Sendable {
    let notification: NotificationPayload
    let transaction: TransactionPayload
    let renewal: RenewalPayload?

    init(_ signed: String) throws {
        notification = try decode(NotificationPayload.self, signed)
        let inner = notification.data?.signedTransactionInfo
        // Nil for notifications about the app, a token or a total, which have no transaction.
        transaction = try inner.map { try decode(TransactionPayload.self, $0) } ?? .init()
        renewal = try notification.data?.signedRenewalInfo.map {
            try decode(RenewalPayload.self, $0)
        }
    }

    var line: String {
        let type = notification.notificationType?.rawValue ?? "?"
        let subtype = notification.subtype.map { "/" + $0.rawValue } ?? ""
        let status = notification.data?.status.map { " \($0.rawValue)" } ?? ""
        let product = transaction.productId.map { " " + $0 } ?? ""
        return type + subtype + status + product
    }
}

struct Missing: Error, CustomStringConvertible {
    let description: String
}

func require<Value>(_ value: Value?, _ what: String) throws -> Value {
    guard let value else { throw Missing(description: what) }
    return value
}

func moment(_ time: String) throws -> AppStoreDate {
    try require(RFC3339.moment(time), "\(time) is no time")
}

func decode<Payload: WireObject>(_ type: Payload.Type, _ signed: String) throws -> Payload {
    let bytes = try require(CompactJWS(signed)?.payload, "no JWS")
    return try Payload(parsing: bytes)
}
