internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Who it is

extension Engine {
    /// From now on for this customer. What the one before had is shut before anything is sent.
    func identify(_ customer: String) async throws(Perennial.Failure) -> Perennial.Snapshot {
        guard Self.mayIdentify(customer) else { throw Self.meaninglessID }
        await open()
        let before = state.device.customerID
        guard customer != before || state.device.isAnonymous else { return publisher.snapshot }
        let anonymous = state.device.isAnonymous ? before : nil
        let hadSomething = anonymous != nil && hasAnything
        await change(to: customer, isAnonymous: false)
        if let anonymous, hadSomething {
            let entry = OutboxEntry(.alias(anonymous), for: customer, firstSeen: now)
            posting.add(entry)
            await writeUnwritten()
            // Before the server says what the person has without it.
            await recordUnsent()
        }
        session.require(.customer)
        do throws(Perennial.Failure) {
            try await fetchCustomer(within: configuration.patience)
        } catch {
            // Offline it is `unknown` until the first contact: no failure of the log-in itself.
            if !error.isTemporary { throw error }
        }
        await readStore()
        await post(isAwaited: true)
        await postEntitlements()
        return await publish()
    }

    /// The longest id that the server takes, in bytes.
    private static let idBytesMax = 255

    /// Whether an id may be one. The server knows more that identify nobody, such as `null`.
    static func mayIdentify(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= idBytesMax
    }

    private static var meaninglessID: Perennial.Failure {
        Perennial.Failure(
            .customerIDNotValid,
            remedy: "Pass one person's own id: printable, 1 to \(idBytesMax) bytes. "
                + "Without one, `signOut` makes an anonymous customer.")
    }

    /// Writes down who has signed in. What cannot be written now, as on a full disk, is tried again
    /// before each post.
    func writeUnwritten() async {
        guard !posting.unwritten.isEmpty, let outbox, outbox.isWriter else { return }
        let entries = posting.removeUnwritten()
        do {
            let additions = try await outbox.add(entries)
            posting.restore(zip(entries, additions).filter { $1 == .full }.map(\.0))
        } catch {
            log.error("identity", "A log-in could not be written down: \(error).")
            posting.restore(entries)
        }
    }

    /// The server has refused the id of the present customer: nobody speaks for it any more, and
    /// what was bought under it is not kept for it. Who was anonymous before is so again.
    func leaveMeaninglessID(_ id: String) async {
        // Two answers may say so at a time.
        guard state.device.customerID == id, !state.device.isAnonymous, identity.beginLeaving()
        else { return }
        defer { identity.finishLeaving() }
        log.error("identity", "The server says that this customer id does not identify a person.")
        let own = KeptVerdict.person(id, salt: state.device.salt)
        let bought = state.device.storeEvidence.transactions.values.filter { $0.firstSeenFor == id }
        for transaction in bought { state.device.storeEvidence.transactions[transaction.id] = nil }
        state.device.verdicts = state.device.verdicts.filter { $0.value != own }
        let wasAnonymous = await isToJoinAnonymous(id)
        posting.removeLogins(of: id)
        // What waits under it is unfinished, and the store lists it anew for the next customer.
        await complete(await waiting(for: id))
        if !wasAnonymous { renewAnonymousID() }
        await becomeAnonymous()
    }

    /// Whether a customer still has to be joined with the device's anonymous one.
    private func isToJoinAnonymous(_ id: String) async -> Bool {
        guard let anonymous = secrets?.anonymousID else { return false }
        return (posting.unwritten + (await outbox?.entries ?? [])).contains {
            $0.customerID == id && $0.content == .alias(anonymous)
        }
    }

    /// A new anonymous customer. Nothing of the old one is shown or sent on.
    func signOut() async -> Perennial.Snapshot {
        await open()
        renewAnonymousID()
        return await becomeAnonymous()
    }

    /// The device's anonymous customer, from now on.
    @discardableResult
    private func becomeAnonymous() async -> Perennial.Snapshot {
        let id = configuration.allowsAnonymous ? secrets?.anonymousID : nil
        await change(to: id, isAnonymous: true)
        if id != nil { session.require(.customer) } else { session.satisfy(.customer) }
        await readStore()
        return await publish()
    }

    /// Two people never share an id, even if it cannot be kept, and the next launch makes another.
    func renewAnonymousID() {
        do {
            secrets = try files.secrets.renewAnonymousID(random: Self.randomBytes)
        } catch {
            log.error("identity", "A new anonymous id could not be kept: \(error).")
            let id = DeviceSecrets.anonymousPrefix + UUID().uuidString.lowercased()
            secrets?.anonymousID = id
        }
    }

    /// Forgets the person on the server and here.
    func erase() async throws(Perennial.Failure) {
        await open()
        guard let id = state.device.customerID else { return }
        await post(isAwaited: true)
        do {
            _ = try await send(
                ServerRequest(
                    method: "DELETE", path: Paths.customer(id), customer: id,
                    timeout: configuration.patience))
        } catch {
            throw error.failure
        }
        // What still waited would make the customer anew.
        posting.removeLogins(of: id)
        do { try await outbox?.complete(await waiting(for: id)) } catch {
            log.error("identity", "What waited for the erased customer stays: \(error).")
        }
        _ = await signOut()
    }

    /// The entries that wait under an id.
    private func waiting(for id: String) async -> [String] {
        await outbox?.entries.filter { $0.customerID == id }.map(\.id) ?? []
    }

    /// Whether the anonymous customer has anything that the next one should keep.
    private var hasAnything: Bool {
        !state.device.storeEvidence.transactions.isEmpty || !(state.answer?.wallets.isEmpty ?? true)
            || !(state.answer?.purchases.isEmpty ?? true)
            || state.serverEvidence?.rights.values.contains(where: \.isActive) == true
    }

    private func change(to customer: String?, isAnonymous: Bool) async {
        identity.recordChange()
        state.device.forgetCustomer()
        state.device.customerID = customer
        state.device.isAnonymous = isAnonymous
        state.serverEvidence = nil
        state.answer = nil
        (state.serverAnsweredAt, state.customerAnsweredAt) = (nil, nil)
        state.aliases = []
        state.waiting = []
        state.unconfirmedDebits = [:]
        session.forgetTag()
        state.unconfirmedDebits = await waitingDebits()
        await recordUnsent()
        await publish()
    }

    /// Makes an anonymous customer, and the person who has signed in on their device, one. Not if
    /// the person has something already, because that cannot be undone: then a restore asks.
    func join(
        _ anonymous: String, with person: String, within timeout: TimeInterval, isAwaited: Bool
    ) async throws(ServerError) {
        let get = ServerRequest.get(
            Paths.customer(person), query: environmentQuery, for: person, within: timeout)
        let answer = try await send(get, isAwaited: isAwaited)
        let customer = try answer.decode(PerennialContract.Customer.self)
        guard customer.isFresh else {
            // The two may have been joined before, without an answer.
            await accept(customer, for: person, by: answer.number)
            if state.device.customerID == person { recordUnrestored() }
            return
        }
        _ = try await send(
            .post(
                Paths.aliases(of: person), AliasRequest(customerID: anonymous), for: person,
                within: timeout), isAwaited: isAwaited)
        let joined = try await send(get, isAwaited: isAwaited)
        await accept(
            try joined.decode(PerennialContract.Customer.self), for: person, by: joined.number)
    }

    private func recordUnrestored() {
        for transaction in state.device.storeEvidence.transactions.values
        where state.device.verdicts[transaction.originalID] == .anonymous {
            recordWaiting(.restore, .init(rawValue: transaction.productID))
        }
    }

    /// Asks the server whose the present purchases of the store account are.
    private func postEntitlements() async {
        guard let id = state.device.customerID, mayPost else { return }
        let documents = await store.documents(.entitlements) ?? []
        let jws = documents.filter(\.isVerified).map(\.jws).prefix(OutboxPosting.batchMax)
        guard !jws.isEmpty else { return }
        let body = PurchasesRequest(
            customerID: id, intent: .sync, signedTransactions: Array(jws))
        guard
            let answer = try? await send(
                .post(Paths.purchases, body, for: id, within: configuration.patience)),
            let customer = try? answer.decode(PerennialContract.Customer.self)
        else { return }
        await accept(customer, for: id, by: answer.number)
    }
}

extension PerennialContract.Customer {
    /// Whether nothing was ever known of this customer.
    fileprivate var isFresh: Bool {
        entitlements.isEmpty && purchases.isEmpty && subscriptions.isEmpty && oneTime.isEmpty
            && nonRenewing.isEmpty && wallets.allSatisfy { $0.value.balance == 0 }
    }
}
