internal import AccessRules
internal import Foundation

// MARK: - The files

extension Engine {
    /// An app's extension only reads what the app has written: that has to be posted by the app.
    private static let isExtension = Bundle.main.bundlePath.hasSuffix(".appex")

    /// Reads what is not needed for the first answer. Every call that uses files awaits it. What
    /// cannot be read yet, as before the first unlock of a device, is read by a later call.
    func open() async {
        if let attempt = identity.beginReading() {
            opening = Task { await readFiles(attempt) }
        }
        await opening?.value
    }

    /// Becomes the one who writes, if another process was that and has ended.
    func becomeWriter() {
        guard let outbox, !outbox.isWriter, !Self.isExtension, !isOver else { return }
        if let own = try? Outbox(folder: files.folder), own.isWriter { self.outbox = own }
    }

    /// Reads what waits now, if another process writes: it may have sent some of it.
    ///
    /// - Returns: whether it was read.
    func rereadOutbox() -> Bool {
        guard let outbox, !outbox.isWriter,
            let read = try? Outbox(folder: files.folder, mayWrite: false)
        else { return false }
        self.outbox = read
        return true
    }

    private func readFiles(_ attempt: Identity.Attempt) async {
        await predecessor?.value
        predecessor = nil
        guard !isOver else { return }
        do {
            try files.folder.create()
            if secrets == nil { try readState() }
            outbox = try Outbox(folder: files.folder, mayWrite: !Self.isExtension)
        } catch {
            identity.recordReadingFailure()
            if attempt == .first {
                log.error(
                    "store",
                    "The SDK's files cannot be read or written now: \(error). It is tried again.")
            }
            return
        }
        if state.device.salt.isEmpty { state.device.salt = Self.randomBytes(16) }
        if state.device.customerID == nil { beAnonymous() }
        requests.read()
        readOfferings()
        state.unconfirmedDebits = await waitingDebits()
        await recordUnsent()
        if let named = configuration.customer, configuration.namedCustomer == nil {
            log.error(
                "identity",
                "`Configuration.customer` is no id, and counts as nil: it has "
                    + "\(named.utf8.count) bytes.")
        }
        await publish()
        if attempt == .again {
            session.require(.customer)
            recordAnnounced()
        }
    }

    /// Throws if this device's secrets or its state cannot be read now. Nothing may be written
    /// before.
    private func readState() throws {
        let values = try files.secrets.values(random: Self.randomBytes)
        if stored == nil {
            stored = try files.storedState(configuration)
            if let stored { state.recall(stored) }
        }
        secrets = values
        let hasSignedOut = identity.isChangedUnread && state.device.isAnonymous
        prove(by: values)
        if hasSignedOut {
            state.device.forgetCustomer()
            renewAnonymousID()
        }
        identity.recordKnown()
    }

    /// Takes the App Store's evidence from the file if this device wrote it, and forgets it if not.
    private func prove(by secrets: DeviceSecrets.Values) {
        if let stored,
            !state.prove(
                stored, by: secrets.code, in: files.state,
                named: identity.isChangedUnread ? state.person : configuration.namedCustomer,
                device: clock)
        {
            log.notice("access", "The state file was changed by another program, and was dropped.")
        }
        state.device.storeEvidence.isTrusted = true
    }

    /// A new anonymous customer, or the one that this device had.
    private func beAnonymous() {
        guard configuration.allowsAnonymous, let secrets else { return }
        state.device.customerID = secrets.anonymousID
        state.device.isAnonymous = true
    }
}
