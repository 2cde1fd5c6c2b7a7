import AppStoreFormats

/// What the customer does with the next sheet or password prompt, set before it appears.
struct NextSheet: Hashable, Sendable {
    var choice = PurchaseOrder.Choice.confirm
    /// The error of the sheet, if the choice is to fail.
    var error = StoreKitFailure.unknown
    /// Whether the sheet stays open until it is released.
    var isHeld = false
}

/// The choices for a device's next sheets, in order.
struct SheetQueue: Sendable {
    /// Maximum number of choices that wait for their sheets.
    static let waitingMax = 100

    private var sheets: [NextSheet] = []

    var count: Int { sheets.count }

    mutating func append(_ sheet: NextSheet) throws(SimulatorProblem) {
        guard sheets.count < Self.waitingMax else {
            throw SimulatorProblem(
                "too_many_sheets", status: 429,
                "\(Self.waitingMax) sheets of this device are set already.",
                remedy: "Buy something first: each purchase uses one choice.")
        }
        sheets.append(sheet)
    }

    mutating func removeFirst() -> NextSheet? { sheets.isEmpty ? nil : sheets.removeFirst() }
}

/// A barrier at which one caller waits until it is opened.
struct Gate: Sendable {
    private let stream: AsyncStream<Bool>
    private let continuation: AsyncStream<Bool>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(of: Bool.self) }

    func open() {
        continuation.yield(true)
        continuation.finish()
    }

    /// Ends the caller's wait without opening the gate.
    func close() { continuation.finish() }

    /// Waits until the gate is opened. Returns false if it was closed, or if the limit has passed.
    func isOpened(within limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { [stream] in
                for await isOpen in stream { return isOpen }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let isOpen = await group.next() ?? false
            group.cancelAll()
            return isOpen
        }
    }
}

extension AppStoreSimulator {
    /// Sets the choice for a device's next sheet, after the choices that are set already. Returns
    /// the number of choices that are set.
    func setNextSheet(_ sheet: NextSheet, on deviceID: String) throws(SimulatorProblem) -> Int {
        let id = try world.device(deviceID).id
        try phones[id, default: Phone()].sheets.append(sheet)
        return phones[id]?.sheets.count ?? 0
    }

    /// Releases all held sheets of a device. Returns how many sheets were held.
    func letGo(on deviceID: String) throws(SimulatorProblem) -> Int {
        let id = try world.device(deviceID).id
        return phones[id]?.prompts.letGo() ?? 0
    }

    /// Shows a sheet or a password prompt on a device. If the sheet is set to be held, waits until
    /// the test releases it.
    ///
    /// - Parameter choice: what the customer does; by default the choice that was set before.
    /// - Returns: what the customer did.
    func show(
        prompt cause: Prompt.Cause, for productID: String? = nil, on deviceID: String,
        choice: PurchaseOrder.Choice? = nil
    ) async throws(SimulatorProblem) -> NextSheet {
        let id = try world.device(deviceID).id
        var phone = phones[id] ?? Phone()
        let sheet = choice.map { NextSheet(choice: $0) } ?? phone.sheets.removeFirst()
        let chosen = sheet ?? NextSheet()
        let prompt = Prompt(
            cause: cause, productID: productID, at: clock.now, choice: chosen.choice,
            isHeld: chosen.isHeld)
        let gate = try phone.prompts.add(prompt)
        phones[id] = phone
        guard let gate else { return chosen }
        let isOpened = await gate.gate.isOpened(within: sheetLimit)
        phones[id]?.prompts.close(gate.number)
        guard isOpened else {
            throw SimulatorProblem(
                "sheet_not_let_go", status: 408, "The sheet was held and not released in time.",
                remedy: "POST …/let-go within \(PromptList.heldSecondsMax) seconds, before a reset."
            )
        }
        return chosen
    }
}
