/// What is to be done in a trial, and when, in milliseconds since 1970: the earliest first, and of
/// one moment what was put down first.
struct Agenda: Sendable {
    /// One thing to be done.
    enum Deed: Hashable, Sendable {
        /// The app of an account starts, and posts what the device has.
        case open(account: Int)
        /// The app of an account has seen something new.
        case post(account: Int)
        /// Something is done to somebody's subscription.
        case act
        /// Renewal is switched on again.
        case resume(String)
        /// Whoever is called takes the next step.
        case step(Int)
        /// Every answer is held against the books.
        case look
        /// A server asks for the notifications that did not reach it.
        case catchUp
        /// A server reads the history of notifications, where that is due.
        case walk
        case stop(server: Int)
        case start(server: Int)
        case skew(server: Int)
        /// The app is updated, and what it speaks.
        case update
        case buy(account: Int, product: String)
        case erase(account: Int)
    }

    private var entries: [(at: Int64, deed: Deed)] = []
    private var looks: Set<Int64> = []

    var next: Int64? { entries.first?.at }

    mutating func add(_ deed: Deed, at moment: Int64) {
        if deed == .look, !looks.insert(moment).inserted { return }
        let place = entries.firstIndex { $0.at > moment } ?? entries.endIndex
        entries.insert((moment, deed), at: place)
    }

    /// The first thing that is to be done by a moment.
    mutating func take(by now: Int64) -> Deed? {
        guard let first = entries.first, first.at <= now else { return nil }
        return entries.removeFirst().deed
    }

    /// Leaves out what is not to be done any more.
    mutating func remove(_ isOver: (Deed) -> Bool) { entries.removeAll { isOver($0.deed) } }
}

extension Agenda.Deed: CustomStringConvertible {
    var description: String {
        switch self {
        case .open(let account): "open: account \(account)"
        case .post(let account): "post: account \(account)"
        case .act: "act"
        case .resume(let purchase): "resume: \(purchase)"
        case .step(let number): "step \(number)"
        case .look: "look"
        case .catchUp: "catch up"
        case .walk: "walk"
        case .stop(let server): "stop: server \(server)"
        case .start(let server): "start: server \(server)"
        case .skew(let server): "skew: server \(server)"
        case .update: "update"
        case .buy(let account, let product): "buy: account \(account), \(product)"
        case .erase(let account): "erase: account \(account)"
        }
    }
}
