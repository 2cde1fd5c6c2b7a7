import AppStoreFormats

extension AppStoreSimulator {
    /// A stream of the future events on a device: each new or changed transaction, and each
    /// subscription's status. The stream starts as in StoreKit when an app starts: with the
    /// unfinished transactions, and with those that are new since the app last listened.
    ///
    /// - Parameters:
    ///   - limit: the number of events after which the stream ends; nil for no limit.
    ///   - last: the number of the last event that the client has. If the later events are still
    ///     stored, the stream starts with only those later events.
    func updateStream(
        on deviceID: String, limit: Int?, after last: String? = nil
    ) throws -> UpdateStream {
        let device = try world.device(deviceID)
        if let id = last.flatMap({ Int64($0) }),
            var stream = try listeners.resume(device, after: id, limit: limit)
        {
            stream.limits = streamLimits
            record(delivered: stream.first, on: deviceID)
            return stream
        }
        let news = news(on: device)
        let first = try show(news, as: .unfinished, on: device).map { signed in
            ServerSentEvent(name: "transaction", content: json(of: signed, on: deviceID))
        }
        var stream = try listeners.add(device, first: first, limit: limit)
        // `messages` lists the messages that already wait.
        phones[deviceID, default: Phone()].announcedMessages.formUnion(
            try world.messages(on: deviceID).map(\.id))
        stream.limits = streamLimits
        for transaction in news.prefix(limit ?? .max) {
            phones[deviceID, default: Phone()].announced[transaction.id] = AnnouncedState(
                transaction)
        }
        return stream
    }

    /// The events of ``updateStream(on:limit:after:)``.
    func updates(on deviceID: String, limit: Int?) throws -> AsyncStream<ServerSentEvent> {
        try updateStream(on: deviceID, limit: limit).events
    }

    /// Appends an event to the stream of one device. The event gets a number, is stored for clients
    /// that reconnect, and is held back while the device has no network.
    func appendEvent(_ name: String, _ content: JSON, to deviceID: String) {
        listeners.append(ServerSentEvent(name: name, content: content), to: deviceID)
    }

    /// The transactions that an app learns of when it starts, oldest first. There are three kinds:
    /// transactions that the app has not finished; transactions that have changed since they were
    /// announced on this device; and transactions that were never announced here and are newer than
    /// the sign-in.
    private func news(on device: Device) -> [StoreTransaction] {
        let announced = phones[device.id]?.announced ?? [:]
        return known(on: device.id).transactions(of: device.account).filter { transaction in
            guard isFinished(transaction.id, on: device.id) else { return true }
            guard let state = announced[transaction.id] else {
                return transaction.id > device.joined
            }
            return state != AnnouncedState(transaction)
        }
    }

    func notifyListeners(of notice: NotificationDraft) throws(SigningFailure) {
        guard let name = notice.account else { return }
        let account = Account.Key(name: name, environment: notice.environment)
        guard listeners.contains(account) else { return }
        announceMessages(to: account)
        guard let transaction = notice.transaction else { return }
        if notice.type.changesTransaction(notice.subtype) || addsSeats(notice, transaction) {
            let announcement = transaction.transactionId.map {
                ServerSentEvent.Announcement(
                    transactionID: world.transactionIDs.canonicalID(of: $0),
                    state: AnnouncedState(transaction))
            }
            try send(to: account, except: silentDevice(for: transaction)) {
                deviceID throws(SigningFailure) in
                let signed = try authority.sign(bound(transaction, to: deviceID))
                return ServerSentEvent(
                    name: "transaction", content: json(of: signed, on: deviceID),
                    announcement: announcement)
            }
        }
        guard let renewal = notice.renewal, let status = notice.status,
            let id = renewal.originalTransactionId
        else { return }
        try send(to: account, except: nil) { deviceID throws(SigningFailure) in
            let content = SignedStatus(
                originalTransactionID: id,
                groupID: transaction.subscriptionGroupIdentifier ?? "", status: status,
                signedTransaction: try authority.sign(bound(transaction, to: deviceID)),
                signedRenewalInfo: try authority.sign(bound(renewal, to: deviceID)))
            return ServerSentEvent(name: "status", content: json(of: content, on: deviceID))
        }
    }

    /// Whether the notification reports a transaction of added seats, not seats that are planned
    /// for the next period.
    private func addsSeats(
        _ notice: NotificationDraft, _ transaction: TransactionPayload
    ) -> Bool {
        notice.subtype == .increaseQuantity && transaction.purchaseDate == notice.at
    }

    /// The device that gets no event about a transaction, because its purchase call returns the
    /// transaction. Nil if no device is left out: with a habit of macOS, the ordering device gets
    /// the events of subscriptions, too.
    private func silentDevice(for transaction: TransactionPayload) -> String? {
        let isAnnounced =
            settings.has(.ownPurchasesAnnounced) && transaction.type == .autoRenewable
            && !world.orderIsInView
        return isAnnounced ? nil : world.orderingDevice
    }

    /// Appends waiting messages to the streams of an account's devices. Leaves out messages that
    /// were already announced on the device.
    private func announceMessages(to account: Account.Key) {
        for device in world.devices.values.sorted(by: { $0.id < $1.id })
        where device.account == account {
            announceMessages(to: device.id)
        }
    }

    /// Appends waiting messages to the stream of a device. Leaves out messages that were already
    /// announced on the device.
    func announceMessages(to deviceID: String) {
        guard let waiting = try? world.messages(on: deviceID) else { return }
        for message in waiting
        where phones[deviceID, default: Phone()].announcedMessages.insert(message.id).inserted {
            appendEvent("message", message.json, to: deviceID)
        }
    }

    private func send(
        to account: Account.Key, except device: String?,
        _ event: (_ deviceID: String) throws(SigningFailure) -> ServerSentEvent
    ) throws(SigningFailure) {
        for (deviceID, event) in try listeners.send(account, except: device, event) {
            record(delivered: [event], on: deviceID)
        }
    }

    /// Records what an app has learned from events, so that it is not announced again.
    func record(delivered events: [ServerSentEvent], on deviceID: String) {
        for case let announcement? in events.map(\.announcement) {
            phones[deviceID, default: Phone()].announced[announcement.transactionID] =
                announcement.state
        }
    }

    private func json(of signedTransaction: String, on deviceID: String) -> JSON {
        [
            "signed_transaction": .string(signedTransaction),
            "verification": .string(verdict(on: signedTransaction, by: deviceID).rawValue),
        ]
    }
}

extension NotificationType {
    /// Whether the notification reports a new or changed transaction.
    fileprivate func changesTransaction(_ subtype: NotificationSubtype?) -> Bool {
        switch self {
        case .subscribed, .didRenew, .oneTimeCharge, .refund, .refundReversed, .revoke,
            .renewalExtended:
            true
        case .didChangeRenewalPref, .offerRedeemed: subtype == .upgrade
        default: false
        }
    }
}
