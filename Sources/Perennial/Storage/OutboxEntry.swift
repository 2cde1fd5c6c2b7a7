internal import Foundation
internal import PerennialContract

/// A request that the server has not acknowledged yet.
struct OutboxEntry: Hashable, Sendable {
    var content: Content
    /// The customer for whom the device first saw the content of the entry. The entry is sent for
    /// this customer, even after a log-out.
    var customerID: String
    var firstSeen: Timestamp
    var attempts = 0
    /// When the entry may be sent. Nil if the entry may be sent now.
    var nextTry: Timestamp?
    var state = State.waiting

    init(_ content: Content, for customerID: String, firstSeen: Timestamp) {
        self.content = content
        self.customerID = customerID
        self.firstSeen = firstSeen
    }

    enum State: Hashable, Sendable {
        /// The entry is sent at ``nextTry``.
        case waiting
        /// The server refused the entry with this code. The entry delays no other entry, and is
        /// sent again once a day.
        case setApart(code: String)
    }

    enum Content: Hashable, Sendable {
        case document(Document)
        case debit(Debit)
        /// Another id of the customer.
        case alias(String)
    }

    /// A document that the App Store signed.
    struct Document: Hashable, Sendable {
        var kind: Kind
        /// The signed text. A receipt is in Base64.
        var text: String
        var intent: PerennialContract.PurchaseIntent
        /// The id of the document's transaction. Nil if the document is not about exactly one
        /// transaction.
        var transactionID: String?
        var productID: String?
        /// The placement at which the product was bought. Nil if it is unknown.
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
        /// The amount to spend. More than 0.
        var amount: Int64
        /// The reason, as the wallet's statement shows it.
        var reason: String
        /// The `Idempotency-Key` of the request.
        var key: String
    }

    /// Identifies an entry: 64 hexadecimal digits.
    ///
    /// The id of a document's entry is a hash of the document's text and the customer. The
    /// transaction's id would not be unique, because the document of a refund has the same
    /// transaction id as the document of the purchase.
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

    /// Whether the entry may be sent at a moment.
    ///
    /// If ``nextTry`` is too far ahead, the device's clock was wrong when the time was recorded.
    /// Then the entry may be sent, because otherwise it could wait for years.
    func isDue(at now: Timestamp) -> Bool {
        guard let nextTry else { return true }
        let (wait, isTooFar) = nextTry.milliseconds.subtractingReportingOverflow(now.milliseconds)
        return wait <= 0 || isTooFar || wait > 2 * longestWait
    }

    /// The longest time in milliseconds for which the entry waits until the next attempt.
    private var longestWait: Int64 {
        switch state {
        case .waiting: RetryPauses.max
        case .setApart: Outbox.setApartInterval
        }
    }
}

/// A line of the outbox's file: what happened to one entry.
enum OutboxLine: Hashable, Sendable {
    case added(OutboxEntry)
    /// The entry was sent without success: the number of attempts, when the next one is due, and
    /// the new state.
    case tried(id: String, attempts: Int, nextTry: Timestamp?, state: OutboxEntry.State)
    /// The server has the entry.
    case done(id: String)
}
