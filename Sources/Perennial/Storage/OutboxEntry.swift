internal import Foundation
internal import PerennialContract

/// Something that the server must hear of and has not acknowledged yet.
struct OutboxEntry: Hashable, Sendable {
    var content: Content
    /// The customer for whom it was seen, and for whom it is sent, also after a log-out.
    var customerID: String
    var firstSeen: Timestamp
    var attempts = 0
    /// Not to be sent before. Nil: now.
    var nextTry: Timestamp?
    var state = State.waiting

    init(_ content: Content, for customerID: String, firstSeen: Timestamp) {
        self.content = content
        self.customerID = customerID
        self.firstSeen = firstSeen
    }

    enum State: Hashable, Sendable {
        /// To be sent at ``nextTry``.
        case waiting
        /// The server refused it with this code. It holds up nothing, and is tried once a day.
        case setApart(code: String)
    }

    enum Content: Hashable, Sendable {
        case document(Document)
        case debit(Debit)
        /// The customer has another id.
        case alias(String)
    }

    /// What the App Store signed.
    struct Document: Hashable, Sendable {
        var kind: Kind
        /// The signed text; a receipt is in Base64.
        var text: String
        var intent: PerennialContract.PurchaseIntent
        /// Nil for what contains no single transaction.
        var transactionID: String?
        var productID: String?
        /// The placement at which it was bought.
        var placement: String?

        enum Kind: String, Hashable, Sendable {
            case transaction
            case renewalInfo = "renewal_info"
            case appTransaction = "app_transaction"
            case receipt
        }
    }

    /// An amount that the app spent.
    struct Debit: Hashable, Sendable {
        var wallet: String
        /// More than 0.
        var amount: Int64
        /// Shown on the statement.
        var reason: String
        /// The `Idempotency-Key` of the request.
        var key: String
    }

    /// Identifies an entry: 64 hexadecimal digits.
    ///
    /// Of a document it is a hash of its text and its customer, never of the transaction's id: a
    /// refund comes under the id of the purchase.
    var id: String {
        var writer = ByteWriter()
        writer.write(customerID)
        switch content {
        case .document(let document):
            writer.write("document")
            writer.write(document.kind.rawValue)
            writer.write(document.text)
        case .debit(let debit):
            writer.write("debit")
            writer.write(debit.wallet)
            writer.write(debit.key)
        case .alias(let alias):
            writer.write("alias")
            writer.write(alias)
        }
        return Cryptography.sha256(writer.bytes).hexadecimal
    }

    /// Whether it may be sent at a moment.
    func isDue(at now: Timestamp) -> Bool { nextTry.map { $0 <= now } ?? true }
}

/// A line of the outbox's file: what happened to one entry.
enum OutboxLine: Hashable, Sendable {
    case added(OutboxEntry)
    /// An attempt was made: how many there were, when the next one is due, and the state since.
    case tried(id: String, attempts: Int, nextTry: Timestamp?, state: OutboxEntry.State)
    /// The server has it.
    case done(id: String)
}
