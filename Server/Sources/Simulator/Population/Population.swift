import AppStoreFormats

/// Many random customers of one world. The population schedules and performs their acts; the world
/// processes the consequences by itself. At the same moment the world's events come first.
package struct Population: Sendable {
    /// Maximum number of customers in one population.
    package static let accountsMax = 10_000
    /// Maximum number of populations in one world.
    package static let populationsMax = 100

    /// Probabilities that a customer arrives at a moment at which calendar code often fails, that a
    /// customer is in the sandbox, and that neighbours are a family.
    private static let arrivesAtEdge = 0.2
    private static let isOfSandbox = 0.02
    private static let isHousehold = 0.1
    /// The number of consecutive customers who are neighbours.
    private static let householdSize = 5
    /// The share of the span in which customers arrive. The rest of the span is for their later
    /// acts.
    private static let lastArrival = 0.92

    private var lives: [Life] = []
    private var intents: [Life.Intent] = []
    private var queue = DueQueue<Int>()
    /// The moment after which no customer starts a new act.
    private let until: AppStoreDate
    /// Whether an act planned within a second is performed at the end of that second.
    var isOnWholeSeconds = false

    /// Makes customers who arrive one by one within a span of time. Their names consist of a prefix
    /// and a number that starts at `first`.
    init(
        _ count: Int, names prefix: String = "life", first: Int = 1, seed: UInt64,
        within span: Range<AppStoreDate>, _ calendar: StoreCalendar
    ) {
        until = span.upperBound
        let edges = EdgeMoments.within(span, calendar)
        let length = Double(span.upperBound.milliseconds - span.lowerBound.milliseconds)
        for number in first..<first + count {
            // Each customer has a generator. Their seeds are far apart.
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
            let block = household * Self.householdSize..<(household + 1) * Self.householdSize
            lives.append(
                Life(
                    name: "\(prefix)\(number)", environment: environment,
                    household: isFamily ? "\(prefix)family\(household)" : nil,
                    neighbours: block.clamped(to: first..<first + count)
                        .filter { $0 != number }.map { "\(prefix)\($0)" },
                    seed: mixer.next()))
            intents.append(.arrive)
            queue.add(lives.count - 1, due: arrival)
        }
    }

    /// Makes the customers of a running simulator: one of several populations of a world.
    ///
    /// - Throws: ``SimulatorProblem`` if there are too many customers, or if the span is empty.
    init(
        _ count: Int, number: Int, seed: UInt64, within span: Range<AppStoreDate>, in world: World
    ) throws(SimulatorProblem) {
        guard (1...Self.accountsMax).contains(count), number <= Self.populationsMax else {
            throw .badRequest(
                "A population of \(count) customers, number \(number), is not allowed.",
                remedy: "Choose 1 to \(Self.accountsMax), at most \(Self.populationsMax) times;"
                    + " `perennial simulate --population` simulates more.")
        }
        guard !span.isEmpty else {
            throw .badRequest("The span `within` is empty.", remedy: "Send `within`, such as P1Y.")
        }
        self.init(
            count, names: "life-\(number)-", seed: seed &+ UInt64(number) << 32, within: span,
            world.calendar)
    }

    /// Whether this population's next act is earlier than that of `other`. A population without
    /// further acts comes last.
    func comesBefore(_ other: Self) -> Bool {
        switch (nextDue, other.nextDue) {
        case (let one?, let other?): one < other
        case (_?, nil): true
        case (nil, _): false
        }
    }

    package var names: [String] { lives.map(\.key.name) }

    /// The number of customers' acts that the world refused.
    package var refusals: Int { lives.reduce(0) { $0 + $1.refusals } }

    var nextDue: AppStoreDate? {
        queue.first.map { isOnWholeSeconds ? $0.due.endOfSecond : $0.due }
    }

    /// The moments at which the customers arrive, earliest first.
    var arrivals: [AppStoreDate] {
        var queue = queue
        var arrivals: [AppStoreDate] = []
        while let first = queue.first {
            arrivals.append(first.due)
            _ = queue.removeFirst()
        }
        return arrivals
    }

    /// Performs the next customer's act. Does nothing if no act is due.
    mutating func actNext(in world: inout World, at now: AppStoreDate) -> [NotificationDraft] {
        guard let due = nextDue, due <= now, let place = queue.removeFirst() else { return [] }
        let notices = lives[place].perform(intents[place], in: &world, at: now)
        if let plan = lives[place].plan(in: world, at: now), plan.at < until {
            intents[place] = plan.intent
            queue.add(place, due: plan.at)
        }
        return notices
    }

    /// Simulates a world that has no other users, until a moment.
    mutating func simulate(
        _ world: inout World, until target: AppStoreDate, _ take: (NotificationDraft) throws -> Void
    ) rethrows {
        // Immediate events of the world are due in the distant past: time must not move back for
        // them.
        var now = AppStoreDate(milliseconds: .min)
        while true {
            let (act, event) = (nextDue, world.nextDue)
            guard let due = [event, act].compactMap({ $0 }).min(), due <= target else { return }
            now = max(now, due)
            let notices =
                event == due ? world.processNext(at: now) : actNext(in: &world, at: now)
            for notice in notices { try take(notice) }
        }
    }
}

extension AppStoreDate {
    /// This moment if it is a whole second, otherwise the next whole second.
    package var endOfSecond: Self { Self(milliseconds: (milliseconds + 999) / 1000 * 1000) }
}
