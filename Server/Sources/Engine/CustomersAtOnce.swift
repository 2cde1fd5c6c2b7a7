import Ledger
import Storage

/// Who is asked about, and in which app.
package struct CustomerQuestion: Hashable, Sendable {
    package var id: CustomerID
    package var app: AppID

    package init(_ id: CustomerID, in app: AppID) {
        self.id = id
        self.app = app
    }
}

/// A customer as they are now, with their token where the app wants one.
package struct CustomerAnswer: Hashable, Sendable {
    package var state: CustomerState
    package var token: String?
}

extension Engine {
    /// After so long no further one is looked up at once: all others on the thread wait for it.
    private static let atOnceMax = Duration.milliseconds(5)

    /// Whether ``customersAtOnce(_:in:)`` answers anything.
    package var answersAtOnce: Bool { store.readsAtOnce }

    /// What customers may use now, by one look at the database and on the thread that asks.
    ///
    /// Nil of whom something would have to be waited for, the database or the key that signs
    /// tokens; of whom the question fails: ``customer(_:app:environment:)`` says why; and of the
    /// last ones where it takes long. Whoever gives an answer says so: ``noteAnswered(_:in:)``.
    package func customersAtOnce(
        _ questions: [CustomerQuestion], in environment: Environment
    ) -> [CustomerAnswer?] {
        let (now, began) = (now(), ContinuousClock.now)
        let states = try? store.readingAtOnce { tx in
            questions.map { question -> CustomerState? in
                guard ContinuousClock.now - began < Self.atOnceMax else { return nil }
                return try? state(asked: question, in: environment, at: now, tx)
            }
        }
        guard let states else { return questions.map { _ in nil } }
        return zip(questions, states).map { question, state in
            state.flatMap { try? answer($0, in: question.app) }
        }
    }

    private func state(
        asked question: CustomerQuestion, in environment: Environment, at now: Instant,
        _ tx: StoreTransaction
    ) throws -> CustomerState? {
        let (app, _) = try app(question.app)
        try question.id.requireMeaning()
        guard app.tokens == nil || mint.key(of: app.id) != nil else { return nil }
        return try tx.state(of: question.id, in: app, environment: environment, at: now)
    }

    private func answer(
        _ state: CustomerState, in appID: AppID
    ) throws(EngineFailure) -> CustomerAnswer? {
        let (app, _) = try app(appID)
        var answer = CustomerAnswer(state: state)
        if app.tokens != nil {
            guard let key = mint.key(of: appID) else { return nil }
            answer.token = try token(for: state, of: app, by: key)
        }
        return answer
    }
}
