import AppStoreFormats
import Dice
import Engine
import Ledger
import Logging
import Storage
import Synchronization

@testable import Program

/// Customers, support and the App Store act on consumables in random order. After each act, the
/// story checks that nothing was credited or spent twice.
///
/// The checks are simple, and independent of how wallets are computed. The spent seeds plus the
/// balances of all wallets never exceed the bought seeds plus the manual credits. For each
/// purchase, the credits to all its owners never exceed what was bought.
struct WalletLife {
    let simulator: Wire
    let seed: UInt64
    let app: AppConfiguration
    let place: Place
    /// Whether support moves purchases. Only a move by support may leave a balance below zero.
    let hasSupport: Bool
    var dice: Dice
    /// The database in use.
    var assembly: Assembly
    var packs: [Pack] = []
    var books = Books()
    var copy: Copy?
    var isRestored = false
    /// The acts so far, for the message of a failure.
    var acts: [String] = []

    /// The place where a life is played.
    struct Place {
        var address: String
        /// The address of an empty database, of the same kind or of the other kind.
        var copyAddress: String
        var root: [UInt8]
        var receiptRoot: [UInt8]
        let clock = StoryClock()
    }

    /// A purchase of seeds.
    struct Pack {
        var transaction: String
        var signed: String
        var receipt: String
        var seeds: Int64
        var isRefunded = false
    }

    /// The sums that the test counts itself.
    struct Books {
        var spent: Int64 = 0
        /// The sum of manual credits.
        var given: Int64 = 0
        /// The idempotency keys of the debits and manual credits that were made.
        var keys: Set<String> = []
        /// The credits of each transaction, from all events about it so far.
        var credited: [String: Int64] = [:]
        var lastEvent: Int64 = 0
    }

    /// A copy of the database, with the books of that moment.
    struct Copy {
        var assembly: Assembly
        var books: Books
    }

    static let currency: CurrencyID = "seeds"
    static let seedsInPack: Int64 = 100
    /// The account tokens, each in the letter case that the customer has as an id.
    static let named = [
        "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f", "7D1F6A0C-55B2-4E0B-9C37-AB34CD56EF78",
    ]
    static let people = (["anna", "ben", "cleo"] + named).map(CustomerID.init(rawValue:))
    /// Accounts of the App Store, each with the token of its purchases.
    static let accounts: [(name: String, token: String?)] = [
        ("a", nil), ("n0", named[0]), ("n1", named[1].lowercased()),
    ]

    /// Begins a new world on the simulator.
    init(seed: UInt64, beside shop: Shop, at address: String, copyAt copyAddress: String)
        async throws
    {
        (simulator, self.seed) = (shop.simulator, seed)
        var dice = Dice(seed: seed)
        var app = birds
        app.settings.restorePolicies = [
            .production: OwnershipClaim.RestorePolicy.allCases.randomElement(using: &dice) ?? .keep
        ]
        (self.app, hasSupport) = (app, Bool.random(using: &dice))
        self.dice = dice
        place = Place(
            address: address, copyAddress: copyAddress, root: shop.authority.rootDER,
            receiptRoot: try shop.authority.receipts.rootDER)
        try await simulator.post("/_sim/reset", ["seed": .integer(Int64(seed % 1_000_000))])
        try await simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
        for account in Self.accounts {
            try await shop.addDevice(
                account.name, account.token.map { ["app_account_token": .string($0)] } ?? [:])
        }
        assembly = try await place.assembly(of: app, at: address)
    }

    func close() {
        assembly.database.close()
        copy?.assembly.database.close()
    }

    mutating func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &dice) }

    mutating func somebody() -> CustomerID { pick(Self.people) ?? "anna" }

    func purchase(_ pack: Pack) -> PurchaseID {
        PurchaseID(TransactionID(rawValue: pack.transaction), in: .production)
    }
}

extension WalletLife.Place {
    func assembly(of app: AppConfiguration, at address: String) async throws -> Assembly {
        try await Assembly(
            apps: [app], databaseAddress: address, simulatorRoot: root, receiptRoot: receiptRoot,
            now: { [clock] in clock.now },
            logger: Logger(label: "life") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// A clock that a test moves together with the simulator's clock.
final class StoryClock: Sendable {
    private let moment = Mutex(Instant(milliseconds: 1_767_268_800_000))

    var now: Instant { moment.withLock { $0 } }

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
}
