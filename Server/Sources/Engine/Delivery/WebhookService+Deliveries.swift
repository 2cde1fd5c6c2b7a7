import Ledger
import Logging
import Storage

extension NewDelivery {
    /// - Parameter epochs: the epochs of the event's log.
    /// - Parameter part: the number of the body among the bodies of the event, from 0.
    init(
        _ event: LoggedEvent, _ epochs: LogEpochs, part: Int = 0, stream: String, body: [UInt8]?
    ) {
        let first = Self.message(of: event, epochs)
        self.init(
            message: part == 0 ? first : "\(first)_\(part + 1)", sequence: event.sequence,
            kind: event.entry.change.kind.rawValue, stream: stream.isEmpty ? first : stream,
            body: body)
    }

    /// The id of the first delivery of an event. The other deliveries have the suffix `_2`, `_3`
    /// and so on.
    static func message(of event: LoggedEvent, _ epochs: LogEpochs) -> String {
        "\(event.entry.app)_evt_\(epochs.position(of: event.sequence))"
    }
}

// The steps from an event to a webhook.
//
// Each webhook has a cursor in the event log. So every committed event is delivered, although the
// transaction of the event writes nothing about webhooks. A server leases the cursor, reads the
// events after it, and renders the events that the webhook wants. In one transaction, it then adds
// their deliveries and moves the cursor. The same server or others lease due deliveries, post them,
// and record the answers. After a crash between two steps, a step is repeated: a delivery may be
// posted twice with the same id, but no delivery is lost.
extension WebhookService {
    /// The maximum number of events that one transaction reads for a webhook.
    private static let eventBatch = 100
    /// The number of attempts after which the webhook's settings are read again.
    private static let attemptBatch = 500

    /// Adds deliveries of the events that a webhook has not read yet. Returns how many events it
    /// has read. Idempotent, and safe for several servers at once.
    package func enqueueDeliveries(
        to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> Int {
        guard !webhook.isPaused else { return 0 }
        let (id, app) = (webhook.id, webhook.app)
        let hasNews = try await context.read { tx in
            guard let cursor = try tx.webhooks.find(id, of: app)?.cursor,
                try tx.events.lastSequence(of: app) > cursor
            else { return false }
            // If too many deliveries wait, no further events are read.
            return try tx.deliveries.backlog(ofDeliveriesTo: id, of: app).count
                < QueueBacklog.countMax
        }
        guard hasNews else { return 0 }
        let holder = webhookTransport.leaseHolder
        let lease = try await context.transaction { tx in
            try tx.webhooks.leaseCursor(of: id, in: app, for: holder, lease: WebhookTransport.lease)
        }
        guard let lease else { return 0 }
        do throws(EngineFailure) {
            // The webhook's settings may have been changed before the lease. A later change ends
            // the lease.
            let present = try await all(of: app).first { $0.id == id }
            guard let present, !present.isPaused else {
                try await context.transaction { tx in try tx.webhooks.release(lease, of: app) }
                return 0
            }
            return try await enqueueDeliveries(after: lease, to: present)
        } catch {
            // Releases the lease, because otherwise no server would continue before the lease
            // expires.
            try? await context.transaction { tx in try tx.webhooks.release(lease, of: app) }
            throw error
        }
    }

    /// Adds deliveries of the events after a leased cursor. Returns how many events it has read.
    private func enqueueDeliveries(
        after lease: WebhookLease, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> Int {
        let app = webhook.app
        let (events, new) = try await deliveries(after: lease.cursor, to: webhook)
        let now = context.now()
        let last = events.last ?? lease.cursor
        try await context.transaction { tx in
            try tx.webhooks.advance(lease, to: last, of: app, adding: new, at: now)
        }
        return events.count
    }

    /// The numbers of the next events of a webhook, and the deliveries of the events that it wants.
    private func deliveries(
        after cursor: Int64, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> (read: [Int64], new: [NewDelivery]) {
        let (events, epochs) = try await context.read { tx in
            (
                try tx.events.all(of: webhook.app, after: cursor, limit: Self.eventBatch),
                try tx.events.epochs(of: webhook.app)
            )
        }
        return (events.map(\.sequence), try await deliveries(of: events, epochs, to: webhook))
    }

    /// The deliveries, with their bodies, of the events that a webhook wants. The webhook's format
    /// decides how many deliveries an event has.
    private func deliveries(
        of events: [LoggedEvent], _ epochs: LogEpochs, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> [NewDelivery] {
        let (settings, _) = try context.app(webhook.app)
        let now = context.now()
        try await prepareAnonymousIDs(for: webhook)
        let subjects = try await context.read { tx in
            try events.flatMap { event in
                try WebhookSubjects(tx).subjects(of: event, epochs, webhook, settings, at: now)
            }
        }
        var deliveries: [NewDelivery] = []
        for (event, subject) in subjects { deliveries += try render(subject, of: event, epochs) }
        return deliveries
    }

    func render(
        _ subject: WebhookSubject, of event: LoggedEvent, _ epochs: LogEpochs
    ) throws(EngineFailure) -> [NewDelivery] {
        try render(subject).enumerated().map { part, body in
            NewDelivery(event, epochs, part: part, stream: subject.stream ?? "", body: body)
        }
    }

    /// Renders an event. Returns one body for each delivery.
    func render(_ subject: WebhookSubject) throws(EngineFailure) -> [[UInt8]] {
        do { return try webhookTransport.render(subject) } catch {
            throw .storage("A webhook's body could not be rendered: \(error)")
        }
    }

    // MARK: - Attempts

    /// Attempts a webhook's due deliveries, several at once. A slow delivery does not delay the
    /// others. Returns how many attempts were made, whatever their results.
    package func deliverDue(to webhook: WebhookEndpoint) async throws -> Int {
        let (id, app) = (webhook.id, webhook.app)
        let start = context.now()
        guard webhook.isOpen(at: start),
            try await context.read({ tx in try tx.deliveries.hasDue(to: id, of: app, by: start) })
        else { return 0 }
        let most = WebhookTransport.concurrentAttempts
        return try await withThrowingTaskGroup(of: Bool.self) { tasks in
            var (underWay, count, goesOn) = (0, 0, true)
            while true {
                if goesOn, count < Self.attemptBatch, underWay <= most / 2, !Task.isCancelled {
                    let leases = try await lease(most - underWay, of: webhook)
                    for lease in leases {
                        tasks.addTask { try await attempt(lease, to: webhook) }
                    }
                    underWay += leases.count
                    count += leases.count
                }
                guard underWay > 0, let mayGoOn = try await tasks.next() else { return count }
                underWay -= 1
                goesOn = goesOn && mayGoOn
            }
        }
    }

    private func lease(
        _ limit: Int, of webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> [DeliveryLease] {
        let (now, holder) = (context.now(), webhookTransport.leaseHolder)
        // The webhook may have been changed, paused, held or deleted since these attempts began.
        let present = try await all(of: webhook.app).first { $0.id == webhook.id }
        guard present?.isSame(as: webhook) == true else { return [] }
        return try await context.transaction { tx in
            try tx.deliveries.lease(
                to: webhook.id, of: webhook.app, dueBy: now, limit: limit, for: holder,
                lease: WebhookTransport.lease)
        }
    }

    /// Attempts a delivery. Returns whether further deliveries may be attempted.
    private func attempt(_ lease: DeliveryLease, to webhook: WebhookEndpoint) async throws -> Bool {
        guard let body = try await body(of: lease, to: webhook) else { return true }
        let (at, start) = (context.now(), ContinuousClock.now)
        let span = await span(of: lease, to: webhook)
        let answer = await webhookTransport.post(
            WebhookPost(
                url: webhook.settings.url, message: lease.message, body: body,
                secrets: webhook.secrets, authorization: webhook.settings.authorization,
                traceparent: span?.trace.header, rules: context.apps[webhook.app]?.webhooks ?? .none
            ))
        span?.record(answer)
        if answer == .notAttempted || (Task.isCancelled && !answer.isAccepted) {
            // This server is stopping or overloaded, so the receiver did not cause the failure.
            try await context.transaction { tx in
                try tx.deliveries.release(lease, to: webhook.id, of: webhook.app)
            }
            return false
        }
        let attempt = DeliveryAttempt(
            answer, at: at,
            milliseconds: (ContinuousClock.now - start).wholeMilliseconds)
        let verdict = WebhookVerdict(
            on: answer, tries: lease.tries + 1, jitter: webhookTransport.jitter())
        try await record(verdict, attempt, of: lease, to: webhook)
        return !verdict.isGone && verdict.hold == nil
    }

    /// The stored body, or a new body if none is stored. Returns nil if the lease was lost, or if
    /// there is nothing left to post.
    ///
    /// A delivery may have no body because the format was changed or a person was erased. Then its
    /// event may now have another number of deliveries than when the delivery was added. So the
    /// deliveries of the event are updated together with the body. Each transaction changes the
    /// deliveries of only one event, however many deliveries wait.
    private func body(
        of lease: DeliveryLease, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> [UInt8]? {
        if let body = lease.body { return body }
        let (id, app, now) = (webhook.id, webhook.app, context.now())
        let parts = try await parts(of: lease, to: webhook)
        let elsewhere = parts.isEmpty ? try await ownersParts(of: lease, to: webhook) : []
        return try await context.transaction { tx in
            // A body that was rendered in the former format must not be stored.
            let format = try tx.webhooks.find(id, of: app)?.settings?.format
            guard format == nil || format == webhook.settings.format else { return nil }
            let body = try tx.deliveries.storeParts(parts, of: lease, to: id, of: app, at: now)
            try tx.deliveries.add(elsewhere, to: id, of: app, at: now)
            return body
        }
    }

    /// The deliveries of an event without a customer, for the present owner of its purchase.
    /// Perennial's format delivers such an event in the purchase's stream, and RevenueCat's format
    /// in the owner's stream. So a change of the format moves the event to another stream.
    private func ownersParts(
        of lease: DeliveryLease, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> [NewDelivery] {
        guard webhook.settings.format == .revenueCat else { return [] }
        try await prepareAnonymousIDs(for: webhook)
        let (settings, _) = try context.app(webhook.app)
        let now = context.now()
        let found = try await context.read { tx -> (LoggedEvent, LogEpochs, WebhookSubject)? in
            guard let event = try tx.events.find(lease.sequence, of: webhook.app),
                event.entry.customer == nil, let purchase = event.entry.purchase,
                let owner = try tx.links.find(of: purchase, in: webhook.app)?.customer
            else { return nil }
            let epochs = try tx.events.epochs(of: webhook.app)
            return (
                event, epochs,
                try WebhookSubjects(tx).subject(
                    of: event, epochs, webhook, settings, for: owner, at: now)
            )
        }
        guard let (event, epochs, subject) = found, subject.stream != lease.stream else {
            return []
        }
        return try render(subject, of: event, epochs)
    }

    /// All deliveries of a delivery's event, rendered from the present state.
    private func parts(
        of lease: DeliveryLease, to webhook: WebhookEndpoint
    ) async throws(EngineFailure) -> [NewDelivery] {
        let (settings, _) = try context.app(webhook.app)
        let now = context.now()
        try await prepareAnonymousIDs(for: webhook)
        let found = try await context.read { tx -> (LoggedEvent, LogEpochs, WebhookSubject)? in
            guard let event = try tx.events.find(lease.sequence, of: webhook.app) else {
                return nil
            }
            let epochs = try tx.events.epochs(of: webhook.app)
            let subject = try WebhookSubjects(tx).subject(
                of: event, epochs, webhook, settings,
                for: try WebhookSubjects(tx).holder(
                    of: event, epochs, toldTo: webhook.id, in: webhook.app), at: now)
            return (event, epochs, subject.staying(in: lease.stream))
        }
        if let (event, epochs, subject) = found {
            return try render(subject).enumerated().map { part, body in
                NewDelivery(event, epochs, part: part, stream: lease.stream, body: body)
            }
        }
        let test = WebhookSubject(
            app: webhook.app, .test(webhook.settings.format, message: lease.message, at: now))
        return try render(test).prefix(1).map {
            NewDelivery(
                message: lease.message, sequence: lease.sequence, kind: "test",
                stream: lease.stream, body: $0)
        }
    }

    private func record(
        _ verdict: WebhookVerdict, _ attempt: DeliveryAttempt, of lease: DeliveryLease,
        to webhook: WebhookEndpoint
    ) async throws(EngineFailure) {
        let (id, app, now) = (webhook.id, webhook.app, context.now())
        let isDelivered = verdict.outcome == .delivered
        // The webhook is read separately, because a transaction that reads the webhook's row
        // conflicts with every transaction that moves the webhook's cursor.
        let before = try await context.read { tx in try tx.webhooks.find(id, of: app) }
        try await context.transaction { tx in
            switch verdict.outcome {
            case .delivered: try tx.deliveries.complete(lease, to: id, of: app, attempt)
            case .retry(let pause):
                try tx.deliveries.fail(lease, to: id, of: app, attempt, next: now + pause)
            case .failed: try tx.deliveries.fail(lease, to: id, of: app, attempt, next: nil)
            }
            if verdict.isGone { try tx.webhooks.pause(id, of: app, since: now, .gone) }
            if let hold = verdict.hold { try tx.webhooks.hold(id, of: app, until: now + hold) }
        }
        if let before, isDelivered != (before.failingSince == nil) {
            try await context.transaction { tx in
                try tx.webhooks.setFailing(id, of: app, since: isDelivered ? nil : now)
            }
        }
        report(verdict, lease, webhook, wasReported: before?.isReported == true)
    }

    private func report(
        _ verdict: WebhookVerdict, _ lease: DeliveryLease, _ webhook: WebhookEndpoint,
        wasReported: Bool
    ) {
        let metadata: Logger.Metadata = [
            "app": "\(webhook.app)", "webhook": "\(webhook.id)", "delivery": "\(lease.message)",
        ]
        switch verdict.outcome {
        case .delivered:
            context.counters.webhooksDelivered.add()
            if wasReported {
                context.logger.notice("a webhook accepts deliveries again", metadata: metadata)
            }
        case .retry: context.counters.webhooksRetried.add()
        case .failed:
            context.counters.webhooksFailed.add()
            context.logger.error(
                "a webhook's delivery failed for the last time; it can be replayed",
                metadata: metadata)
        }
        if verdict.isGone {
            context.logger.error("a webhook answered 410 Gone, and is paused", metadata: metadata)
        }
    }
}

extension DeliveryAttempt {
    fileprivate init(_ answer: WebhookAnswer, at moment: Instant, milliseconds: Int64) {
        self.init(at: moment, milliseconds: milliseconds)
        switch answer {
        case .answer(let status, let body, _): (self.status, self.answer) = (status, body)
        case .failure(let reason): trouble = reason
        case .notAttempted: preconditionFailure("An attempt that was not made is not recorded.")
        }
    }
}
