import Foundation
import PerennialTesting
import Testing

@testable import Perennial

/// The life of one customer. Nobody else uses this customer's Apple account.
///
/// An app may not report a right as closed for certain if the right was open in the books before
/// and after the act in which the app reported it. A report is excused if the app could not know
/// that the right was open: see ``LifePhone/isExcused(_:in:)``.
struct Life {
    let seed: UInt64
    private let world: World
    private let shop: LifeShop
    private let account: String
    /// The customer who signs in at first. Nil if nobody signs in.
    private var person: String?
    private var dice: SeededDice
    private var phones: [LifePhone] = []
    /// Whether each right was open at the last look at the books.
    private var open: [String: Bool] = [:]

    /// Whether time has passed in the last act. Snapshots that the apps show during that time are
    /// not judged.
    private var isTimePassing = false

    private(set) var snapshots = 0
    private(set) var answers: [String: Int] = [:]
    private(set) var acts: [String: Int] = [:]
    /// The acts so far, in order, for a message.
    private var journal: [String] = []

    static let rights = ["pro", "guide"]
    private static let actsMax = 12

    init(seed: UInt64, in world: World, _ shop: LifeShop) async throws {
        self.seed = seed
        self.world = world
        self.shop = shop
        dice = SeededDice(seed: seed)
        account = "life\(seed)"
        person = dice.once(in: 2) ? "person\(seed)" : nil
    }

    mutating func play() async throws {
        try await addPhone()
        if dice.once(in: 2) { try await addPhone() }
        for _ in 0..<Int.random(in: 4...Self.actsMax, using: &dice) {
            let before = open
            try await act()
            try await look(since: before)
            // The clock moves so that snapshots from before an act are older than those after it.
            try await world.advance(.seconds(1))
        }
        try await end()
    }

    private mutating func addPhone() async throws {
        let phone = LifePhone(try await world.device(of: account))
        phones.append(phone)
    }

    // MARK: - Acts

    private enum Act: String, CaseIterable {
        case buyElsewhere, buyElsewhereAgain, buyHere, launch, relaunch, reinstall, activate
        case serverChanges, serverChangesAgain, storeChanges, emptyReads, hours, days, refund
        case cancel, signIn
    }

    private mutating func act() async throws {
        let act = dice.pick(Act.allCases)
        acts[act.rawValue, default: 0] += 1
        isTimePassing = [.hours, .days].contains(act)
        let index = Int.random(in: phones.indices, using: &dice)
        note("\(act) on \(index + 1)")
        switch act {
        case .serverChanges, .serverChangesAgain:
            let reach = dice.pick(Self.reaches)
            note("\(reach)")
            await world.serverIs(reach)
        case .hours: try await world.advance(.seconds(3600 * Int.random(in: 1...30, using: &dice)))
        case .days: try await world.advance(.days(Int.random(in: 1...40, using: &dice)))
        case .signIn: await signIn()
        default: try await play(act, on: phones[index])
        }
    }

    private mutating func play(_ act: Act, on phone: LifePhone) async throws {
        switch act {
        case .buyElsewhere, .buyElsewhereAgain:
            let product = dice.pick(Self.products)
            note("\(product)")
            try? await phone.device.buyElsewhere(product)
        case .buyHere:
            let product = dice.pick(Self.products)
            guard phone.isOnline, let app = phone.perennial else { return }
            let outcome = try? await app.purchase(product).outcome
            note("\(product) \(outcome?.rawValue ?? "failed")")
        case .reinstall:
            let keeping = dice.once(in: 2)
            await phone.end()
            try await phone.device.reinstall(keepingKeychain: keeping)
            phone.forget()
            try await launch(phone)
        case .activate: if let app = phone.perennial { await phone.device.activate(app) }
        case .storeChanges:
            phone.isOnline = !phone.isOnline
            note(phone.isOnline ? "up" : "down")
            try await phone.device.storeIs(phone.isOnline ? .up : .down)
        case .emptyReads:
            let count = dice.pick([0, 2, 1000])
            note("\(count)")
            try await phone.readsAreEmptyAtLaunch(count)
        case .refund: try? await phone.device.refund("pro.monthly")
        case .cancel: try? await phone.device.change("pro.monthly", "cancel")
        default: try await launch(phone)
        }
    }

    private mutating func note(_ text: String) { journal.append(text) }

    private static let products: [Perennial.ProductID] = [
        "pro.monthly", "pro.monthly", "pro.yearly", "guide", "season.spring", "seeds.100",
    ]
    private static let reaches: [World.Reach] = [
        .up, .up, .down, .slow(0.05), .slow(0.4), .slow(60), .answering(503), .losingAnswers,
    ]

    /// Ends the app if it runs, and launches it.
    private mutating func launch(_ phone: LifePhone) async throws {
        let name = dice.pick(LifeShop.bundleNames)
        let bundle = shop.bundle(name)
        let keys = dice.once(in: 2) ? shop.keys : []
        note("launch, offerings \(name), \(keys.count) keys, \(person ?? "anonymous")")
        let person = person
        try await phone.launch { configuration in
            configuration.customer = person
            configuration.bundledOfferings = bundle
            configuration.trustedKeys = keys
            // A slower server counts as one that does not answer.
            configuration.patience = 0.5
        }
        // In half of the cases the next act comes while the launch is still going on.
        guard dice.once(in: 2), let app = phone.perennial else { return }
        await app.known("pro", withinSeconds: 0.3)
    }

    /// Signs the customer in. A customer who was anonymous on all phones is a person from now on.
    private mutating func signIn() async {
        guard person == nil else { return }
        let name = "person\(seed)"
        person = name
        for phone in phones { _ = try? await phone.perennial?.identify(name) }
    }

    // MARK: - Checks of the snapshots

    private mutating func look(since before: [String: Bool]) async throws {
        let truth = try await world.truth(of: account)
        open = Dictionary(
            uniqueKeysWithValues: Self.rights.map { ($0, truth.isOpen($0)) })
        for phone in phones {
            // The app's knowledge is read before the snapshots. So an answer that arrives in
            // between counts as not known yet.
            let knowledge = try await phone.knowledge(in: world)
            for shown in try await phone.shown() { check(shown, of: phone, since: before) }
            phone.note(
                knowledge, open: Set(open.filter(\.value).keys), at: try await now(phone))
        }
    }

    private mutating func check(
        _ shown: LifePhone.ShownSnapshot, of phone: LifePhone, since before: [String: Bool]
    ) {
        snapshots += 1
        for right in Self.rights {
            let access = shown.snapshot[.init(rawValue: right)]
            let answer = access.isActive ? "open" : access.isKnown ? "shut" : "unknown"
            answers[answer, default: 0] += 1
            guard answer == "shut", before[right] == true, open[right] == true,
                !isTimePassing || access.basis != .server
            else { continue }
            let isExcused = phone.isExcused(right, in: shown)
            #expect(
                isExcused,
                """
                Seed \(seed): \(phone.device.id) says that \(right) is shut \
                (\(access.state.rawValue), by \(access.basis.rawValue)).
                \(journal.joined(separator: "; "))
                """)
            if isExcused { answers["shut by an earlier answer", default: 0] += 1 }
        }
    }

    /// The present time of the world's clock.
    private func now(_ phone: LifePhone) async throws -> Date {
        try await phone.device.simulated.clock().now
    }

    /// Ends all faults, and waits until every part knows the present state.
    private mutating func end() async throws {
        await world.serverIs(.up)
        let before = open
        for phone in phones {
            try await phone.device.storeIs(.up)
            phone.isOnline = true
            try await phone.readsAreEmptyAtLaunch(0)
            try await launch(phone)
            guard let app = phone.perennial else { continue }
            await phone.device.activate(app)
            _ = try? await app.refresh()
        }
        try await look(since: before)
        let truth = open
        for phone in phones {
            try await phone.perennial?.until { snapshot in
                Self.rights.allSatisfy {
                    snapshot[.init(rawValue: $0)].isKnown
                        && snapshot[.init(rawValue: $0)].isActive == truth[$0]
                }
            }
            await phone.end()
        }
        try await look(since: open)
    }
}
