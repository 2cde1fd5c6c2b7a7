import AppStoreFormats
import Engine
import Ledger
import Simulator

// Apps that name the intent with which they post. If one of the posted documents is forged, the
// other documents must be recorded nevertheless.

extension Trial {
    private static let forgeryOdds = 0.3

    /// Posts a device's purchases to a server. Returns the customer.
    func post(
        _ posted: PurchaseEvidence, of id: CustomerID, to server: Server
    ) async throws(any Error) -> CustomerState {
        guard plan.has(.intents), sabotage == nil,
            let intent = intentRandom.pick([nil] + OwnershipClaim.Intent.allCases)
        else {
            return try await server.engine.recording.record(posted, of: id, app: TrialFixture.app)
        }
        guard let intent else {
            return try await server.engine.recording.record(posted, of: id, app: TrialFixture.app)
        }
        let (mixed, forged) = withForgery(posted)
        let result = try await server.engine.recording.post(
            mixed, of: id, intent: intent, app: TrialFixture.app)
        try expect(forged, toBeRefusedIn: result)
        if let refusal = result.refusal(for: intent) { throw refusal }
        guard let state = result.state else {
            throw EngineFailure.unreadable("No document was accepted.")
        }
        report.tally.add("purchase posted with an intent")
        return state
    }

    /// Sometimes adds a forged copy of a document. Returns its position in the list.
    private func withForgery(_ posted: PurchaseEvidence) -> (PurchaseEvidence, forged: Int?) {
        guard !posted.signedTransactions.isEmpty,
            posted.signedTransactions.count < PurchaseEvidence.documentsMax / 2,
            intentRandom.happens(Self.forgeryOdds)
        else { return (posted, nil) }
        var mixed = posted
        let place = intentRandom.number(in: 0...posted.signedTransactions.count - 1)
        mixed.signedTransactions.insert(
            Self.forged(posted.signedTransactions[place]), at: place)
        return (mixed, place)
    }

    /// Returns the document with another signature.
    private static func forged(_ document: String) -> String {
        guard let dot = document.lastIndex(of: ".") else { return "" }
        let signature = document[document.index(after: dot)...]
        let first: Character = signature.first == "A" ? "B" : "A"
        return document[...dot] + String(first) + signature.dropFirst()
    }

    private func expect(_ forged: Int?, toBeRefusedIn result: PostingResult) throws {
        for outcome in result.documents {
            let isForged =
                outcome.place.member == .signedTransactions && outcome.place.index == forged
            switch outcome.result {
            case .kept, .repeat:
                guard !isForged else {
                    throw violation("trust", "a forged document was recorded")
                }
            case .refused(let failure):
                // If any other document is refused, the whole posting fails.
                guard isForged else { throw failure }
            }
        }
        if forged != nil { report.tally.add("forged document refused, the others kept") }
    }
}
