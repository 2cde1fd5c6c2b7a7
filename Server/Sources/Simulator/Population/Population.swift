import AppStoreFormats

/// Many random customers of one world. It knows when somebody acts next, and lets them; the world
/// does by itself what follows. Of one moment the world comes first.
package struct Population: Sendable {
    /// Customers of one population.
    package static let accountsMax = 10_000
    /// Populations of one world.
    package static let populationsMax = 100

    /// Odds that a customer comes at a moment at which calendars go wrong, that one is of the
    /// sandbox, and that neighbours are a family.
    private static let arrivesAtEdge = 0.2
    private static let isOfSandbox = 0.02
    private static let isHousehold = 0.1
    /// Neighbours by their numbers.
    private static let householdSize = 5
    /// The last month is for what follows.
    private static let lastArrival = 0.92

    private var lives: [Life] = []
    private var intents: [Life.Intent] = []
    private var queue = DueQueue<Int>()
    /// After this nobody begins anything.
    private let until: AppStoreDate
    /// Nobody acts within a second: what is planned there is done at its end.
    var isOnWholeSeconds = false

    /// So many customers, who come one by one within a span of time. Their names begin with a
    /// prefix and go on with a number from `first`.
    init(
        _ count: Int, names prefix: String = "life", first: Int = 1, seed: UInt64,
        within span: Range<AppStoreDate>, _ calendar: StoreCalendar
    ) {
        until = span.upperBound
        let edges = EdgeMoments.within(span, calendar)
        let length = Double(span.upperBound.milliseconds - span.lowerBound.milliseconds)
        for number in first..<first + count {
            // A generator for each, from numbers far apart.
            var mixer = SplitMix64(seed: seed &+ UInt64(number) &* 0xD134_2543_DE82_EF95)
            var dice = Dice(seed: mixer.next())
            let environment: SimulatedEnvironment =
                dice.happens(Self.isOfSandbox) ? .sandbox : .production
            let arrival: AppStoreDate
            if dice.happens(Self.arrivesAtEdge), let edge = dice.pick(edges) {
                arrival = edge
            } else {
                let part = dice.fraction() * Self.lastArrival * length
                arrival = AppStoreDate(milliseconds: span.lowerBound.milliseconds + Int64(part))
            }
            let household = number / Self.householdSize
            var neighbours = Dice(seed: seed ^ UInt64(household) &* 0xA24B_AED4_963E_E407)
            let isFamily = neighbours.happens(Self.isHousehold)
            lives.append(
                Life(
                    name: "\(prefix)\(number)", environment: environment,
                    household: isFamily ? "\(prefix)family\(household)" : nil, seed: mixer.next()))
            intents.append(.arrive)
            queue.add(lives.count - 1, due: arrival)
        }
    }

    /// The customers of a running simulator: one of several populations of a world.
    ///
    /// - Throws: ``StoreProblem`` where there are too many, or no time is given.
    init(
        _ count: Int, number: Int, seed: UInt64, within span: Range<AppStoreDate>, in world: World
    ) throws(StoreProblem) {
        guard (1...Self.accountsMax).contains(count), number <= Self.populationsMax else {
            throw .badRequest(
                "There would be \(count) customers in population \(number).",
                remedy: "Choose 1 to \(Self.accountsMax), at most \(Self.populationsMax) times;"
                    + " `perennial simulate --population` plays more.")
        }
        guard !span.isEmpty else {
            throw .badRequest("The customers have no time.", remedy: "Send `within`, such as P1Y.")
        }
        self.init(
            count, names: "life-\(number)-", seed: seed &+ UInt64(number) << 32, within: span,
            world.calendar)
    }

    /// Whose next act is earlier; one that has come to rest is last.
    func comesBefore(_ other: Self) -> Bool {
        switch (nextDue, other.nextDue) {
        case (let one?, let other?): one < other
        case (_?, nil): true
        case (nil, _): false
        }
    }

    package var names: [String] { lives.map(\.key.name) }

    /// How often the world refused what a customer wanted.
    package var refusals: Int { lives.reduce(0) { $0 + $1.refusals } }

    var nextDue: AppStoreDate? {
        queue.first.map { isOnWholeSeconds ? $0.due.endOfSecond : $0.due }
    }

    /// When each comes, the earliest first.
    var arrivals: [AppStoreDate] {
        var queue = queue
        var arrivals: [AppStoreDate] = []
        while let first = queue.first {
            arrivals.append(first.due)
            _ = queue.removeFirst()
        }
        return arrivals
    }

    /// Lets the customer act who is next. Nothing where nobody is due.
    mutating func actNext(in world: inout World, at now: AppStoreDate) -> [Notice] {
        guard let due = nextDue, due <= now, let place = queue.removeFirst() else { return [] }
        let notices = lives[place].carryOut(intents[place], in: &world, at: now)
        if let plan = lives[place].plan(in: world, at: now), plan.at < until {
            intents[place] = plan.intent
            queue.add(place, due: plan.at)
        }
        return notices
    }

    /// Plays a world that nobody else touches, until a moment.
    mutating func play(
        _ world: inout World, until target: AppStoreDate, _ take: (Notice) throws -> Void
    ) rethrows {
        // What the world does at once, it does as of long ago: time never goes back for that.
        var now = AppStoreDate(milliseconds: .min)
        while true {
            let (act, event) = (nextDue, world.nextDue)
            guard let due = [event, act].compactMap({ $0 }).min(), due <= target else { return }
            now = max(now, due)
            let notices =
                event == due ? world.settleNext(at: now) : actNext(in: &world, at: now)
            for notice in notices { try take(notice) }
        }
    }
}

extension AppStoreDate {
    /// The next whole second, which it may be itself.
    package var endOfSecond: Self { Self(milliseconds: (milliseconds + 999) / 1000 * 1000) }
}
