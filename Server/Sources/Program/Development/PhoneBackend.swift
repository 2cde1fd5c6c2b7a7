import AppStoreFormats
import Dashboard
import Foundation
import PerennialContract

/// Plays the phone of `perennial dev`. Turns each action on the phone's page into requests to the
/// simulator's routes and to the server's API. Reads everything that the page shows from these two.
/// All requests use HTTP, so a developer could see and do everything themselves.
///
/// Actions are carried out one after the other. The phone's state is in memory only, like the
/// simulated world.
actor PhoneBackend {
    /// The people who use the phone, one after the other. Each new start brings the next person.
    static let cast = [
        "anna", "cleo", "dora", "emma", "frida", "greta", "hana", "ida", "jana", "kira", "lena",
        "mara", "nora", "olga", "paula", "rosa", "sara", "tilda", "vera", "wilma",
    ]
    /// The maximum number of people that are tried when the user starts over.
    static let peopleMax = 1000
    /// The name of another customer, who has a phone and is a member of the family.
    static let other = "ben"

    /// The pages that are open in browsers.
    let pages = PhonePages()
    let settings: Settings
    private let turns = KeyedLock()

    // MARK: - What the phone remembers

    var customer = PhoneBackend.cast[0]
    /// The simulator's device. Nil until the phone was switched on.
    var phone: String?
    var device = PhoneDevice()
    /// The customer's account token. Nil until the token is needed.
    var token: String?
    /// The device of the other customer. Nil until the device is needed.
    var otherPhone: String?
    var wire: [WireEntry] = []
    var events: [Event] = []
    /// How many of the events have been added to the log of messages.
    var shownEventCount = 0
    var eventCursor: String?
    var seenNotifications: Set<String> = []
    /// The phone's own actions since the page was last read.
    var lines: [WireEntry.Line] = []
    var refund: AskedRefund?
    private(set) var state: PhoneState?
    private var readAt: ContinuousClock.Instant?
    /// The minimum time between two refreshes of open pages.
    static let refreshPause = Duration.milliseconds(900)

    init(_ settings: Settings) { self.settings = settings }

    // MARK: - The page

    /// The current content of the page, read again.
    func current() async throws -> PhoneState {
        await turns.lock()
        defer { turns.unlock() }
        return try await reread()
    }

    /// Carries out an action. If the action is impossible, the state contains the reason, and
    /// nothing changes.
    func perform(_ act: PhoneAct) async throws -> PhoneState {
        await turns.lock()
        defer { turns.unlock() }
        try await switchOn()
        device.trouble = nil
        do {
            try await carryOut(act)
            try await quiesce()
        } catch let refusal as Refusal {
            device.trouble = refusal.sentence
        }
        return try await reread()
    }

    /// Reads everything again if something else has moved the clock or changed the customer, such
    /// as a developer at a terminal or another page.
    func refresh() async throws {
        if let readAt, ContinuousClock.now - readAt < Self.refreshPause { return }
        await turns.lock()
        defer { turns.unlock() }
        if try await isOutdated() { try await reread() }
    }

    @discardableResult
    func reread() async throws -> PhoneState {
        try await switchOn()
        let state: PhoneState
        do { state = try await read() } catch is NewWorld {
            // A developer has begun a new world, which has no purchases.
            forget()
            try await switchOn()
            state = try await read()
        }
        self.state = state
        readAt = ContinuousClock.now
        pages.publish(PhonePiece.all(of: state))
        return state
    }

    private func isOutdated() async throws -> Bool {
        readAt = ContinuousClock.now
        guard let state else { return true }
        let now = try await settings.simulator.get("/_sim/clock").json["now"]?.string
        if now.flatMap({ Timestamp($0) }) != state.now { return true }
        return try await readNewEvents()
    }

    /// Removes the person on the phone, and the log of messages.
    func forget() {
        (phone, otherPhone, token, refund) = (nil, nil, nil, nil)
        (device, wire, events, lines) = (PhoneDevice(), [], [], [])
        (eventCursor, shownEventCount) = (nil, 0)
    }

    /// The simulator has a new world, in which the customer does not exist.
    struct NewWorld: Error {}

    /// Why an action was not carried out.
    struct Refusal: Error {
        var sentence: String
    }
}
