import Ledger
import Storage

/// Records Apple's requests for consumption information and their outcomes, and emits events.
struct ConsumptionUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Records the consumption requests that came with new documents, and emits an event for each.
    func record(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        for each in attested {
            guard let question = each.consumptionInquiry else { continue }
            let document = each.document
            try tx.inquiries.insert(question, from: document)
            try emitEvent(
                .consumptionRequested, question, in: document.app, by: .document(document.id),
                at: document.receivedAt)
        }
    }

    /// Records the outcome of a leased request, and emits an event if the request is closed. If the
    /// lease was lost, records the outcome only if it is an answer, because that answer has been
    /// sent.
    func complete(
        _ leased: StoredConsumptionInquiry, _ end: ConsumptionOutcome, in app: AppID,
        by holder: String, at now: Instant
    ) throws(StorageFailure) {
        guard try tx.inquiries.complete(leased, end, in: app, by: holder, at: now) else { return }
        let kind: Change.Kind =
            if case .answered = end { .consumptionAnswered } else { .consumptionUnanswered }
        try emitEvent(kind, leased.inquiry, in: app, by: .time, at: now)
    }

    private func emitEvent(
        _ kind: Change.Kind, _ question: ConsumptionInquiry, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        try PurchaseEvents(tx).emitStatusNeutralEvent(
            Change(
                kind, at: kind == .consumptionRequested ? question.askedAt : now,
                product: question.product, transaction: question.transaction),
            of: question.purchase, in: app, by: cause, at: now)
    }
}
