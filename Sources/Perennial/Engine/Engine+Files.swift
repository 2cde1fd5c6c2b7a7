internal import AccessRules
internal import Foundation

// MARK: - The files

extension Engine {
    /// Whether this process is an app's extension. An extension only reads the files; the app posts
    /// the entries in them.
    private static let isExtension = Bundle.main.bundlePath.hasSuffix(".appex")

    /// Reads the files that the first snapshot does not need. Every call that uses files awaits
    /// this function. If a file cannot be read yet, for example before the first unlock of a
    /// device, the next call reads it.
    func open() async {
        if let attempt = identity.beginReading() {
            opening = Task { await readFiles(attempt) }
        }
        await opening?.value
    }

    /// Makes this engine the writer of the files if the process that was the writer has ended.
    func becomeWriter() {
        guard let outbox, !outbox.isWriter, !Self.isExtension, !isOver else { return }
        if let own = try? Outbox(folder: files.folder), own.isWriter { self.outbox = own }
    }

    /// Reads the waiting entries again if another process is the writer, because that process may
    /// have sent some of them.
    ///
    /// - Returns: whether the entries were read.
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
                    "The SDK's files cannot be read or written now: \(error). The SDK tries again.")
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
                "`Configuration.customer` is not an id, and counts as nil: it has "
                    + "\(named.utf8.count) bytes.")
        }
        await publish()
        // After the publication, because from then on each change names its customer.
        attributes.assignUnnamed(to: secrets?.anonymousID)
        if attempt == .again {
            session.require(.customer)
            recordAnnounced()
        }
    }

    /// Reads this device's secrets and its state. Throws if the secrets or the state cannot be read
    /// now. Until both are read, the engine must not write.
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
            // They were set for the previous customer, whose id was never known.
            attributes.assignUnnamed(to: nil)
            state.device.forgetCustomer()
            renewAnonymousID()
        }
        identity.recordKnown()
    }

    /// Restores the App Store's evidence from the file if this device wrote the file. Otherwise
    /// discards that evidence.
    private func prove(by secrets: DeviceSecrets.Values) {
        if let stored,
            !state.prove(
                stored, by: secrets.code, in: files.state,
                named: identity.isChangedUnread ? state.person : configuration.namedCustomer,
                device: clock)
        {
            log.notice("access", "Another program has changed the state file, so it was ignored.")
        }
        state.device.storeEvidence.isTrusted = true
    }

    /// Makes this device's anonymous customer, or a new one, the present customer.
    private func beAnonymous() {
        guard configuration.allowsAnonymous, let secrets else { return }
        state.device.customerID = secrets.anonymousID
        state.device.isAnonymous = true
    }
}
