internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - The customer

extension Engine {
    /// Switches to a customer. Shuts all access of the previous customer before it sends a request.
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
            // Recorded now, because the next answer of the server may not yet reflect the unsent
            // log-in.
            await recordUnsent()
        }
        session.require(.customer)
        do throws(Perennial.Failure) {
            try await fetchCustomer(within: configuration.patience)
        } catch {
            // Offline, access is `unknown` until the first contact with the server. The log-in has
            // not failed.
            if !error.isTemporary { throw error }
        }
        await readStore()
        await post(isAwaited: true)
        await postEntitlements()
        return await publish()
    }

    /// The longest id that the server accepts, in bytes.
    private static let idBytesMax = 255

    /// Whether an id has an acceptable form. The server also refuses ids that identify no person,
    /// such as `null`.
    static func mayIdentify(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= idBytesMax
    }

    private static var meaninglessID: Perennial.Failure {
        Perennial.Failure(
            .customerIDNotValid,
            remedy: "Pass one person's own id: printable, 1 to \(idBytesMax) bytes. "
                + "Without one, `signOut` makes an anonymous customer.")
    }

    /// Saves the log-ins that could not be saved. If saving fails again, for example on a full
    /// disk, each later post tries again first.
    func writeUnwritten() async {
        guard !posting.unwritten.isEmpty, let outbox, outbox.isWriter else { return }
        let entries = posting.removeUnwritten()
        do {
            let additions = try await outbox.add(entries)
            posting.restore(zip(entries, additions).filter { $1 == .full }.map(\.0))
        } catch {
            log.error("identity", "A log-in could not be saved: \(error).")
            posting.restore(entries)
        }
    }

    /// Leaves the present customer, because the server has refused the id. The SDK no longer posts
    /// purchases for that id. If the device was anonymous before, the previous anonymous customer
    /// becomes the present customer again.
    func leaveMeaninglessID(_ id: String) async {
        // Two answers may report the refusal at the same time.
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
        // The transactions that wait under that id are unfinished. So the store lists them again
        // for the next customer.
        await complete(await waiting(for: id))
        attributes.forget(id)
        if !wasAnonymous { renewAnonymousID() }
        await becomeAnonymous()
    }

    /// Whether the device's anonymous customer must still be merged into a customer.
    private func isToJoinAnonymous(_ id: String) async -> Bool {
        guard let anonymous = secrets?.anonymousID else { return false }
        return (posting.unwritten + (await outbox?.entries ?? [])).contains {
            $0.customerID == id && $0.content == .alias(anonymous)
        }
    }

    /// Signs out, and begins a new anonymous customer. From then on, no data of the old customer is
    /// shown or sent.
    func signOut() async -> Perennial.Snapshot {
        await open()
        renewAnonymousID()
        return await becomeAnonymous()
    }

    /// Makes the device's anonymous customer the present customer.
    @discardableResult
    private func becomeAnonymous() async -> Perennial.Snapshot {
        let id = configuration.allowsAnonymous ? secrets?.anonymousID : nil
        await change(to: id, isAnonymous: true)
        if id != nil { session.require(.customer) } else { session.satisfy(.customer) }
        await readStore()
        return await publish()
    }

    /// Makes a new anonymous id, so that two people never share one. An id that cannot be saved
    /// counts until the next launch, which makes another id.
    func renewAnonymousID() {
        do {
            secrets = try files.secrets.renewAnonymousID(random: Self.randomBytes)
        } catch {
            log.error("identity", "A new anonymous id could not be saved: \(error).")
            let id = DeviceSecrets.anonymousPrefix + UUID().uuidString.lowercased()
            secrets?.anonymousID = id
        }
    }

    /// Erases the person on the server and on this device.
    func erase() async throws(Perennial.Failure) {
        await open()
        guard let id = state.device.customerID else { return }
        await post(isAwaited: true)
        await attributes.block(id)
        do {
            _ = try await send(
                ServerRequest(
                    method: "DELETE", path: Paths.customer(id), customer: id,
                    timeout: configuration.patience))
        } catch {
            await attributes.unblock(id)
            throw error.failure
        }
        // Waiting entries would create the customer again.
        attributes.forget(id)
        posting.removeLogins(of: id)
        do { try await outbox?.complete(await waiting(for: id)) } catch {
            log.error("identity", "The erased customer's entries could not be removed: \(error).")
        }
        _ = await signOut()
        // The app may have set attributes until the log-out.
        attributes.forget(id)
        await attributes.unblock(id)
    }

    /// The ids of the entries that wait for the server on behalf of a customer.
    private func waiting(for id: String) async -> [String] {
        await outbox?.entries.filter { $0.customerID == id }.map(\.id) ?? []
    }

    /// Whether the anonymous customer has purchases, wallets, grants or attributes that the person
    /// who signs in should get.
    private var hasAnything: Bool {
        !state.device.storeEvidence.transactions.isEmpty || !(state.answer?.wallets.isEmpty ?? true)
            || !(state.answer?.purchases.isEmpty ?? true)
            || state.serverEvidence?.rights.values.contains(where: \.isActive) == true
            || attributes.areSet(for: state.device.customerID)
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

    /// Merges an anonymous customer with the person who has signed in on the same device. Does
    /// nothing if the person already has purchases, grants or balances, because a merge cannot be
    /// undone. In that case a restore asks the user.
    func join(
        _ anonymous: String, with person: String, within timeout: TimeInterval, isAwaited: Bool
    ) async throws(ServerError) {
        let get = ServerRequest.get(
            Paths.customer(person), query: environmentQuery, for: person, within: timeout)
        let answer = try await send(get, isAwaited: isAwaited)
        let customer = try answer.decode(PerennialContract.Customer.self)
        guard customer.isFresh else {
            // An earlier request, whose answer was lost, may have joined the two.
            await accept(customer, for: person, by: answer.number)
            if state.device.customerID == person { recordUnrestored() }
            return
        }
        _ = try await send(
            .post(
                Paths.aliases(of: person), AliasRequest(customerID: anonymous), for: person,
                within: timeout), isAwaited: isAwaited)
        attributes.move(from: anonymous, to: person)
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

    /// Posts the current purchases of the store account, so that the server says who owns them.
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
    /// Whether the server knows no purchase, entitlement or balance of this customer.
    fileprivate var isFresh: Bool {
        entitlements.isEmpty && purchases.isEmpty && subscriptions.isEmpty && oneTime.isEmpty
            && nonRenewing.isEmpty && wallets.allSatisfy { $0.value.balance == 0 }
    }
}
