internal import AccessRules
internal import PerennialContract

/// What a device stores about its customer from one launch to the next.
struct DeviceState: Hashable, Sendable {
    // MARK: The customer's data, which is deleted at log-out

    /// The customer's id. Nil before there is a customer.
    var customerID: String?
    var isAnonymous = true
    /// The `appAccountToken` for purchases.
    var accountToken: String?
    /// The signed text of the last token.
    var token: String?
    /// Entitlements that the server reported as shut, by name. These entries give no access. They
    /// explain why an entitlement is shut.
    var closed: [String: ClosedNote] = [:]

    // MARK: The device's data, which stays after a log-out

    var environment: StoreEnvironment?
    /// The app's name in the server's configuration.
    var app: String?
    var keys: KeyRing
    var anchor: TimeAnchor?
    /// The salt of the hashes in ``verdicts``: any bytes, chosen once for this device.
    var salt: [UInt8] = []
    /// The owners of purchases, by original transaction id.
    var verdicts: [String: KeptVerdict] = [:]
    /// The App Store's evidence. The evidence is not trusted before its seal is verified.
    var storeEvidence = StoreEvidence()

    init(keys: KeyRing) { self.keys = keys }

    /// Deletes everything of the customer, at a log-out. Two things stay: the verdicts, so that the
    /// next person gets no purchase of this customer, and the purchases that this device first saw
    /// for an anonymous customer.
    mutating func forgetCustomer() {
        let person = isAnonymous ? nil : customerID
        customerID = nil
        isAnonymous = true
        accountToken = nil
        token = nil
        closed = [:]
        guard let person else { return }
        let gone = storeEvidence.transactions.values.filter { $0.firstSeenFor == person }
        for transaction in gone {
            // The purchase stays with this customer until the server reports another owner, even if
            // the store lists the purchase again.
            if verdicts[transaction.originalID] == nil {
                verdicts[transaction.originalID] = .person(person, salt: salt)
            }
            storeEvidence.transactions[transaction.id] = nil
        }
        let left = Set(storeEvidence.transactions.values.map(\.originalID))
        storeEvidence.statuses = storeEvidence.statuses.filter { left.contains($0.key) }
    }

    /// Deletes the data that only this device's seal proves, because the seal is broken or missing.
    mutating func forgetUnproven() {
        if !keys.isPinned { keys = KeyRing() }
        anchor = nil
        closed = [:]
        verdicts = [:]
        storeEvidence = StoreEvidence()
    }
}

/// Why an entitlement is shut.
struct ClosedNote: Hashable, Sendable {
    var state: AccessState
    var until: Timestamp?
}

/// A signed time, and the device's monotonic clock at the moment when the time was received.
struct TimeAnchor: Hashable, Sendable {
    /// The time that the server or Apple signed.
    var signedAt: Timestamp
    /// The milliseconds since the boot by the monotonic clock, which also counts sleep.
    var monotonicMilliseconds: Int64
    /// The id of the boot from which the monotonic clock counts.
    var bootID: String
}

/// The owner of a purchase, in a form that identifies nobody.
enum KeptVerdict: Hashable, Sendable {
    /// The purchase belongs to a customer who has not signed in.
    case anonymous
    /// The purchase belongs to the person with this hash.
    case person([UInt8])
    /// The purchase belongs to a person whom the server has not named.
    case unnamedPerson

    /// The verdict with a hash of the person's id. The hash reveals the id only to someone who has
    /// the salt and guesses the id.
    static func person(_ id: String, salt: [UInt8]) -> KeptVerdict {
        .person(Cryptography.sha256(salt + Array(id.utf8)))
    }

    /// The meaning of the verdict for a customer.
    ///
    /// - Parameter person: the customer's id. Nil if the customer is anonymous.
    func verdict(for person: String?, salt: [UInt8]) -> Verdict {
        switch self {
        case .anonymous: .anonymous
        case .unnamedPerson: .anotherPerson
        case .person:
            person.map { Self.person($0, salt: salt) } == self ? .theirs : .anotherPerson
        }
    }
}
