/// The schedule of a trial: actions with their times in milliseconds since 1970, earliest first.
/// Actions of the same time keep the order in which they were added.
struct Schedule: Sendable {
    /// One scheduled action.
    enum Action: Hashable, Sendable {
        /// The app of an account starts and posts what the device has.
        case open(account: Int)
        /// The app of an account posts something new that it has seen.
        case post(account: Int)
        /// A change is made to a random subscription.
        case act
        /// Renewal is switched on again.
        case resume(String)
        /// The scripted customer takes the next step.
        case step(Int)
        /// Every answer is compared with the simulator's ground truth.
        case check
        /// A server backfills the notifications that did not reach it.
        case backfill
        /// A server reads the history of notifications if that is due.
        case walk
        case stop(server: Int)
        case start(server: Int)
        case skew(server: Int)
        /// The app is updated, and changes to the modern APIs.
        case update
        case buy(account: Int, product: String)
        case erase(account: Int)
        /// A thief with the app key uses copies of documents.
        case rob
        /// Somebody signs in on the device on which they have bought.
        case signIn(account: Int)
        /// A buyer asks for purchases that were taken from them.
        case winBack(account: Int)
        /// A random change is made to the seats of the group.
        case group
    }

    private var entries: [(at: Int64, deed: Action)] = []
    private var checkTimes: Set<Int64> = []

    var next: Int64? { entries.first?.at }

    mutating func add(_ deed: Action, at moment: Int64) {
        if deed == .check, !checkTimes.insert(moment).inserted { return }
        let place = entries.firstIndex { $0.at > moment } ?? entries.endIndex
        entries.insert((moment, deed), at: place)
    }

    /// Removes and returns the first action that is due.
    mutating func dequeue(by now: Int64) -> Action? {
        guard let first = entries.first, first.at <= now else { return nil }
        return entries.removeFirst().deed
    }

    /// Removes the actions for which a closure returns true.
    mutating func remove(_ isOver: (Action) -> Bool) { entries.removeAll { isOver($0.deed) } }
}

extension Schedule.Action: CustomStringConvertible {
    var description: String {
        switch self {
        case .open(let account): "open: account \(account)"
        case .post(let account): "post: account \(account)"
        case .act: "act"
        case .resume(let purchase): "resume: \(purchase)"
        case .step(let number): "step \(number)"
        case .check: "look"
        case .backfill: "catch up"
        case .walk: "walk"
        case .stop(let server): "stop: server \(server)"
        case .start(let server): "start: server \(server)"
        case .skew(let server): "skew: server \(server)"
        case .update: "update"
        case .buy(let account, let product): "buy: account \(account), \(product)"
        case .erase(let account): "erase: account \(account)"
        case .rob: "rob"
        case .signIn(let account): "sign in: account \(account)"
        case .winBack(let account): "win back: account \(account)"
        case .group: "group"
        }
    }
}
