internal import AccessRules
internal import PerennialContract

/// What a device remembers of its customer from one launch to the next.
struct DeviceState: Hashable, Sendable {
    // MARK: The customer's own, deleted at log-out

    /// Nil before there is any.
    var customerID: String?
    var isAnonymous = true
    /// What to set as `appAccountToken` at a purchase.
    var accountToken: String?
    /// The signed text of the last token.
    var token: String?
    /// Rights that the server said are shut, by entitlement. They open nothing: they say why.
    var closed: [String: ClosedNote] = [:]

    // MARK: The device's, which survives a log-out

    var environment: StoreEnvironment?
    /// The app's name in the server's configuration.
    var app: String?
    var keys: KeyRing
    var anchor: TimeAnchor?
    /// Mixed into the hashes of ``verdicts``: any bytes that were chosen once for this device.
    var salt: [UInt8] = []
    /// Whose purchases are, by original transaction id.
    var verdicts: [String: KeptVerdict] = [:]
    /// What the App Store said. Not to be trusted before the seal was checked.
    var storeEvidence = StoreEvidence()

    init(keys: KeyRing) { self.keys = keys }

    /// Deletes everything of the customer: a log-out. Verdicts stay, so that the next person gets
    /// nothing of the last one's, and so does what this device first saw for nobody in particular.
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
            // It stays theirs until the server says otherwise, also if the store lists it anew.
            if verdicts[transaction.originalID] == nil {
                verdicts[transaction.originalID] = .person(person, salt: salt)
            }
            storeEvidence.transactions[transaction.id] = nil
        }
        let left = Set(storeEvidence.transactions.values.map(\.originalID))
        storeEvidence.statuses = storeEvidence.statuses.filter { left.contains($0.key) }
    }

    /// Deletes what nobody but this device has signed, because its seal is broken or missing.
    mutating func forgetUnproven() {
        if !keys.isPinned { keys = KeyRing() }
        anchor = nil
        closed = [:]
        verdicts = [:]
        storeEvidence = StoreEvidence()
    }
}

/// Why a right is shut.
struct ClosedNote: Hashable, Sendable {
    var state: AccessState
    var until: Timestamp?
}

/// A signed time, and what the device's monotonic clock showed when it was received.
struct TimeAnchor: Hashable, Sendable {
    /// What the server or Apple signed.
    var signedAt: Timestamp
    /// A clock that counts sleep. Milliseconds since the boot.
    var monotonicMilliseconds: Int64
    /// Which boot the monotonic clock belongs to.
    var bootID: String
}

/// Whose a purchase is, in a form that names nobody.
enum KeptVerdict: Hashable, Sendable {
    /// It belongs to a customer who has not signed in.
    case anonymous
    /// It belongs to the person with this hash.
    case person([UInt8])
    /// It belongs to a person whom the server has not named.
    case unnamedPerson

    /// A hash from which nobody can be told without the salt and a guess.
    static func person(_ id: String, salt: [UInt8]) -> KeptVerdict {
        .person(Cryptography.sha256(salt + Array(id.utf8)))
    }

    /// What it means for a customer.
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
