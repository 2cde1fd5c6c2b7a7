internal import Foundation
internal import PerennialContract

/// Saves the changes of attributes that the app makes, and sends them to the server.
actor AttributeSender {
    /// The maximum number of batches that one run sends.
    static let batchesMax = 2 * AttributeFile.waitingMax
    /// How many milliseconds pass until the next attempt after the file could not be written.
    static let unwrittenWait: Int64 = 60_000

    private let file: AttributeFile
    private let publisher: SnapshotPublisher
    private let clock: any DeviceClock
    private let log: Log
    /// Whether a customer whose id is not known yet is the anonymous customer of this device.
    private let mayBeUnnamed: Bool
    private(set) var posting = AttributePosting()
    private var running: Task<Void, Never>?
    /// Tells the engine that changes wait. Nil until the engine runs. The property is a closure,
    /// because the type of a continuation would cost some microseconds at a launch.
    private let notify = Locked<(@Sendable () -> Void)?>(nil)

    /// - Parameter isStateUnreadable: whether the file with the state exists, but could not be read
    ///   yet. Then the customer may be a person.
    init(
        _ configuration: Perennial.Configuration, folder: DeviceFolder,
        publisher: SnapshotPublisher, clock: any DeviceClock, isStateUnreadable: Bool
    ) {
        file = AttributeFile(folder: folder)
        self.publisher = publisher
        self.clock = clock
        log = Log(configuration.log)
        mayBeUnnamed = configuration.allowsAnonymous && !isStateUnreadable
    }
}

// MARK: - Changes by the app

extension AttributeSender {
    /// Saves changes for the present customer. When the call returns, the changes survive the end
    /// of the process.
    nonisolated func set(
        _ values: [Perennial.AttributeName: String?]
    ) throws(Perennial.Failure) {
        let changes = values.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { (name: $0.key.rawValue, value: $0.value) }
        let moment = PendingAttribute.Moment(publisher.now, by: clock)
        let hasCustomer: Bool
        do throws(FileFailure) {
            hasCustomer = try file.change { pending in
                // Read while the file is locked: so an erasure also removes a change that another
                // thread is just making.
                let (customer, isAnonymous) = publisher.customer
                guard customer != nil || mayBeUnnamed else { return false }
                pending.set(changes, for: customer, isAnonymous: isAnonymous, at: moment)
                return true
            }
        } catch {
            throw error == .tooLarge ? .tooManyAttributes : .attributesNotSaved(error)
        }
        guard hasCustomer else {
            throw Perennial.Failure(.customerMissing, remedy: "Call `identify` first.")
        }
        notify.withLock { $0 }?()
    }

    /// Gives the changes that were made before the device knew the id of its anonymous customer to
    /// this customer. If the id is nil, drops these changes.
    nonisolated func assignUnnamed(to customer: String?) {
        guard pending.changes.contains(where: { $0.customerID == nil }) else { return }
        save { $0.assignUnnamed(to: customer) }
    }

    /// Gives the waiting changes of an anonymous customer to the person with whom the server has
    /// merged this customer.
    nonisolated func move(from anonymous: String, to person: String) {
        guard pending.contains(anonymous) else { return }
        save { $0.move(from: anonymous, to: person) }
    }

    /// Changes the file for the SDK itself. A change that cannot be written is logged.
    private nonisolated func save(_ change: (inout PendingAttributes) -> Void) {
        do { try file.change(change) } catch {
            log.error("store", "The waiting attributes could not be changed: \(error).")
        }
    }

    /// Whether the app has set attributes for an anonymous customer of this device.
    nonisolated func areSet(for customer: String?) -> Bool {
        customer.map { pending.contains($0) } ?? false
    }

    /// The waiting changes. Empty if the file cannot be read now.
    nonisolated var pending: PendingAttributes { (try? file.read()) ?? PendingAttributes() }

    /// A value for each time that the app makes changes. If several changes are made while the
    /// reader is busy, the reader gets one value for them. Only one reader may read at a time.
    nonisolated func additions() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        notify.withLock { $0 = { continuation.yield() } }
        return stream
    }
}

// MARK: - Sending

extension AttributeSender {
    /// Sends all waiting changes, oldest first. Failed changes are sent again later.
    ///
    /// - Parameter isAwaited: whether a caller waits for the run. Otherwise the run obeys the
    ///   budget and the silence that the server has ordered.
    func post(through engine: Engine, isAwaited: Bool = false) async {
        guard !pending.changes.isEmpty else { return }
        if posting.begin(isAwaited: isAwaited, at: clock.monotonic()) {
            running = Task { await run(through: engine) }
        }
        if posting.isPosting { await running?.value }
    }

    private func run(through engine: Engine) async {
        for _ in 0..<Self.batchesMax {
            let isAllowed = await isAllowed(by: engine)
            let now = PendingAttribute.Moment(await engine.now, by: clock)
            // Nothing is awaited between the last look at the file and the end of the run, so that
            // no change is overlooked.
            guard isAllowed,
                let batch = nextBatch(asOf: now),
                await send(batch, asOf: now, through: engine)
            else { break }
        }
        posting.finish()
    }

    /// The next batch. Its times are on the disk before it is sent: so a change that the app makes
    /// from now on gets a later time, even if the process ends before the answer arrives. Returns
    /// nil if nothing can be sent now.
    private func nextBatch(asOf now: PendingAttribute.Moment) -> [PendingAttribute]? {
        guard posting.batch(of: pending.changes, at: now.monotonic) != nil else { return nil }
        do {
            return try file.change { pending in
                let batch = posting.batch(of: pending.changes, at: now.monotonic)
                if let batch { pending.recordSending(of: batch, asOf: now) }
                return batch
            }
        } catch {
            log.error("store", "Attributes wait, because their times cannot be saved: \(error).")
            posting.pause(until: clock.monotonic() + Self.unwrittenWait, isOrdered: false)
            return nil
        }
    }

    private func isAllowed(by engine: Engine) async -> Bool {
        guard await engine.outbox?.isWriter == true else { return false }
        if posting.isAwaited { return true }
        guard await engine.session.silence(at: clock.monotonic()) == 0 else { return false }
        return await engine.mayAsk
    }

    /// Sends a batch. Returns whether the next batch may be sent.
    private func send(
        _ batch: [PendingAttribute], asOf now: PendingAttribute.Moment, through engine: Engine
    ) async -> Bool {
        guard let customer = batch.first?.customerID else { return false }
        let body = AttributesRequest(
            attributes: batch.map {
                AttributeSetting(name: $0.name, value: $0.value, at: $0.time(asOf: now))
            })
        do throws(ServerError) {
            let answer = try await engine.send(
                .patch(
                    Paths.attributes(of: customer), body, for: customer,
                    within: engine.configuration.patience),
                isAwaited: posting.isAwaited, silencesOthers: false)
            // A proxy may answer in the server's place.
            _ = try answer.decode(AttributeList.self)
            posting.recordSuccess(of: batch)
            return remove(batch, answeredAt: answer.serverTime)
        } catch {
            return proceed(after: error, of: batch)
        }
    }

    /// Follows the decision about a batch that failed. Returns whether the next batch may be sent.
    private func proceed(after error: ServerError, of batch: [PendingAttribute]) -> Bool {
        switch posting.recordFailure(error, of: batch) {
        case .heldBack: return false
        case .postedAlone: return true
        case .dropped(let code):
            let names = batch.map(\.name).joined(separator: ", ")
            log.error(
                "server",
                "The server refused attributes (\(code)), which are dropped: \(names). "
                    + error.failure.remedy)
            posting.recordRefusal(of: batch, code: code, remedy: error.failure.remedy)
            return remove(batch)
        case .routeMissing:
            if posting.recordMissingRoute() {
                log.error(
                    "server",
                    "The server does not store attributes, because it is too old. They are "
                        + "dropped. Update the server.")
            }
            return remove(batch)
        case .customerDelayed(let customer):
            let failures = posting.delays[customer]?.failuresInARow ?? 0
            posting.delay(
                customer, until: clock.monotonic() + RetryPauses.wait(after: failures + 1))
            return true
        case .postponed:
            let ordered = error.retryAfter.map { Int64($0) * 1000 }
            let wait = max(
                RetryPauses.wait(after: posting.failuresInARow + 1), ordered ?? 0, RetryPauses.min)
            posting.pause(until: clock.monotonic() + wait, isOrdered: ordered != nil)
            return false
        }
    }

    /// Removes settled changes from the file. If the removal cannot be written, for example on a
    /// full disk, the changes are sent again later. The server recognises them by their time.
    ///
    /// - Parameter serverTime: when the server acknowledged the changes. Nil if it did not, or if
    ///   it did not say when.
    private func remove(
        _ batch: [PendingAttribute], answeredAt serverTime: Timestamp? = nil
    ) -> Bool {
        do {
            try file.change { pending in
                pending.remove(batch)
                if let serverTime { pending.recordAnswer(at: serverTime) }
            }
            return true
        } catch {
            log.error("store", "Sent attributes could not be removed: \(error).")
            posting.pause(until: clock.monotonic() + Self.unwrittenWait, isOrdered: false)
            return false
        }
    }

    /// The milliseconds until changes can be sent. Nil if nothing waits that can be sent.
    ///
    /// - Parameter now: monotonic milliseconds.
    func wait(at now: Int64) -> Int64? { posting.wait(of: pending.changes, at: now) }

    /// Ends a pause that the server has not ordered.
    func hurry() { posting.hurry() }
}

// MARK: - Erasures

extension AttributeSender {
    /// Sends nothing more for a customer who is being erased, because a change would create the
    /// customer again. Returns when no change for this customer is on its way.
    func block(_ customer: String) async {
        posting.block(customer)
        if posting.isPosting { await running?.value }
    }

    /// Ends ``block(_:)``, because the customer was not erased.
    func unblock(_ customer: String) { posting.unblock(customer) }

    /// Removes everything about a customer.
    nonisolated func forget(_ customer: String) {
        guard pending.contains(customer) else { return }
        save { $0.forget(customer) }
    }
}

extension Perennial.Failure {
    fileprivate static var tooManyAttributes: Self {
        Self(
            .attributesFull,
            remedy: "At most \(AttributeFile.waitingMax) changes of attributes can wait for the "
                + "server, and \(AttributeFile.bytesMax) bytes. Set them again when the server "
                + "can be reached.",
            isTemporary: true)
    }

    fileprivate static func attributesNotSaved(_ failure: FileFailure) -> Self {
        Self(
            .attributesNotSaved,
            remedy: "The attributes could not be saved on this device, for example because the "
                + "disk is full or was not unlocked since the restart. Set them again later: "
                + "\(failure).",
            isTemporary: true)
    }
}

// MARK: - Diagnosis

extension AttributeSender {
    /// What waits, and what the server refused since the launch.
    var findings: [Perennial.Diagnosis.Finding] {
        let count = pending.changes.count
        var findings: [Perennial.Diagnosis.Finding] = []
        if count > 0 {
            findings.append(
                .init(
                    isProblem: false, text: "\(count) changes of attributes wait for the server."))
        }
        if posting.isRouteMissing {
            findings.append(
                .init(
                    isProblem: true, text: "The server does not store attributes.",
                    remedy: "Update the server: it is older than this SDK."))
        }
        return findings
            + posting.refusals.map {
                .init(
                    isProblem: true,
                    text: "The server refused the attribute \($0.name) (\($0.code)).",
                    remedy: $0.remedy)
            }
    }
}
