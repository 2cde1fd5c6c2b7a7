import AppStoreFormats

/// A sheet or a password prompt that appeared on a device.
struct Prompt: Hashable, Sendable {
    /// The call that caused it.
    enum Cause: String, Hashable, Sendable, CaseIterable {
        case purchase
        /// `AppStore.sync()`
        case sync
        /// `AppTransaction.refresh()`
        case refresh
    }

    enum Kind: String, Hashable, Sendable, CaseIterable {
        case sheet
        case password
    }

    let cause: Cause
    let productID: String?
    let at: AppStoreDate
    let choice: PurchaseOrder.Choice
    /// Whether the prompt is still open.
    var isHeld: Bool

    var kind: Kind {
        switch cause {
        case .purchase: .sheet
        case .sync, .refresh: .password
        }
    }
}

/// The prompts of a device, oldest first.
struct PromptList: Sendable {
    /// Maximum number of prompts that are listed; older ones are dropped.
    static let listedMax = 1000
    /// Maximum number of sheets of one device that are held at the same time.
    static let heldMax = 20
    /// Maximum number of callers that wait for a device's next prompt.
    static let waitersMax = 20
    /// The maximum real time, in seconds, for which a sheet is held, or a caller waits for one.
    static let heldSecondsMax = 60

    private var prompts: [Prompt] = []
    /// The number of older prompts that are no longer listed.
    private var dropped = 0
    /// The gates of held prompts, by the number of the prompt.
    private var held: [Int: Gate] = [:]
    private var waiters: [(count: Int, gate: Gate)] = []

    var all: [Prompt] { prompts }

    /// The number of all prompts so far, also those that are no longer listed.
    var count: Int { dropped + prompts.count }

    /// Adds a prompt. Returns its number and, if it is held, a gate to wait at.
    mutating func add(
        _ prompt: Prompt
    ) throws(SimulatorProblem) -> (number: Int, gate: Gate)? {
        guard !prompt.isHeld || held.count < Self.heldMax else {
            throw SimulatorProblem(
                "too_many_held_sheets", status: 429,
                "\(Self.heldMax) sheets of this device are held.", remedy: "POST …/let-go first.")
        }
        prompts.append(prompt)
        if prompts.count > Self.listedMax {
            prompts.removeFirst()
            dropped += 1
        }
        let reached = count
        let arrived = waiters.filter { $0.count <= reached }
        waiters.removeAll { $0.count <= reached }
        for waiter in arrived { waiter.gate.open() }
        guard prompt.isHeld else { return nil }
        let gate = Gate()
        held[count] = gate
        return (count, gate)
    }

    /// A gate that opens when this number of prompts has appeared; nil if that has already
    /// happened.
    mutating func gate(until count: Int) throws(SimulatorProblem) -> Gate? {
        guard self.count < count else { return nil }
        guard waiters.count < Self.waitersMax else {
            throw SimulatorProblem(
                "too_many_waiters", status: 429,
                "\(Self.waitersMax) callers wait for a prompt of this device.",
                remedy: "Wait until some of them have continued.")
        }
        let gate = Gate()
        waiters.append((count, gate))
        return gate
    }

    /// Opens the gates of all held sheets. Returns how many sheets were held.
    mutating func letGo() -> Int {
        let gates = held
        for (number, gate) in gates {
            close(number)
            gate.open()
        }
        return gates.count
    }

    /// Marks a prompt as no longer held.
    mutating func close(_ number: Int) {
        held[number] = nil
        let index = number - dropped - 1
        if prompts.indices.contains(index) { prompts[index].isHeld = false }
    }

    /// Ends the wait of every caller.
    func finish() {
        for gate in held.values { gate.close() }
        for waiter in waiters { waiter.gate.close() }
    }
}

extension AppStoreSimulator {
    /// The prompts that a device has shown.
    ///
    /// - Parameter count: the number of prompts to wait for, at most for a minute.
    func prompts(on deviceID: String, atLeast count: Int) async throws(SimulatorProblem) -> [Prompt]
    {
        let id = try world.device(deviceID).id
        if let gate = try phones[id, default: Phone()].prompts.gate(until: count) {
            _ = await gate.isOpened(within: sheetLimit)
        }
        return phones[id]?.prompts.all ?? []
    }
}
