import AppStoreFormats
import Dashboard
import Foundation
import PerennialContract

/// Plays the phone of `perennial dev`: turns each act on its page into requests to the simulator's
/// routes and to the server's API, and reads back from both all that the page shows. Everything
/// goes over HTTP, so that nothing is shown which a developer could not see or do themselves.
///
/// Acts are carried out one after the other. What the phone shows is in memory only, like the
/// simulated world.
actor PhoneBackend {
    /// Who is on the phone, one after the other: each time one starts over, the next one.
    static let cast = [
        "anna", "cleo", "dora", "emma", "frida", "greta", "hana", "ida", "jana", "kira", "lena",
        "mara", "nora", "olga", "paula", "rosa", "sara", "tilda", "vera", "wilma",
    ]
    /// The maximum number of people who are tried when one starts over.
    static let peopleMax = 1000
    /// Another customer, with a phone of his own, and a member of the family.
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
    /// The customer's account token. Nil until it is needed.
    var token: String?
    /// The device of the other customer. Nil until it is needed.
    var otherPhone: String?
    var wire: [WireEntry] = []
    var events: [Event] = []
    /// How many of the events are on the wire already.
    var shownEventCount = 0
    var eventCursor: String?
    var seenNotifications: Set<String> = []
    /// What the phone itself did since the page was last read.
    var lines: [WireEntry.Line] = []
    var refund: AskedRefund?
    private(set) var state: PhoneState?
    private var readAt: ContinuousClock.Instant?
    /// Pages that are open are not refreshed more often.
    static let refreshPause = Duration.milliseconds(900)

    init(_ settings: Settings) { self.settings = settings }

    // MARK: - The page

    /// What the page shows now, read anew.
    func current() async throws -> PhoneState {
        await turns.lock()
        defer { turns.unlock() }
        return try await reread()
    }

    /// Carries out an act. What cannot be done is said in the state, and changes nothing.
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

    /// Reads anew if something else has moved the clock or changed the customer: a developer in a
    /// terminal, or another page.
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
            // A developer has begun a new world, in which nobody has bought anything.
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

    /// Forgets who is on the phone, and all that was said.
    func forget() {
        (phone, otherPhone, token, refund) = (nil, nil, nil, nil)
        (device, wire, events, lines) = (PhoneDevice(), [], [], [])
        (eventCursor, shownEventCount) = (nil, 0)
    }

    /// The simulator does not know the customer.
    struct NewWorld: Error {}

    /// What was not done, and why.
    struct Refusal: Error {
        var sentence: String
    }
}
