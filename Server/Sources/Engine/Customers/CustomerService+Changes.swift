import Crypto
import Ledger
import Storage

extension CustomerService {
    /// What a customer may use now, for a caller that polls. Unlike ``find(_:app:environment:)``,
    /// this function counts nothing and requests no check with the App Store.
    package func currentState(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> CustomerState {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            try CustomerReader(tx).state(of: id, in: app, environment: environment, at: now)
        }
    }

    /// What each of several customers may use now, in the order of the given ids. One transaction
    /// reads all of these states, so they are of the same moment. Callers must limit the length of
    /// the list, because the transaction takes longer for a longer list.
    package func currentStates(
        of ids: [CustomerID], app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> [CustomerState] {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            let reader = CustomerReader(tx)
            return try ids.map {
                try reader.state(of: $0, in: app, environment: environment, at: now)
            }
        }
    }

    /// Returns a stream that yields each time after this server has committed events about a
    /// customer, or about a purchase in which the customer has a share or a seat. The stream ends
    /// when its continuation is finished. Commits of other servers, and changes caused by time
    /// alone, yield nothing.
    package func changeSignals(
        of state: CustomerState, app: AppID
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        // Events of another customer's purchase belong to that customer.
        let others = state.purchases.filter { !$0.isOwn }.map(\.timeline.payingPurchase)
        return context.db.signals.signals(about: [state.id] + state.aliases, others, in: app)
    }

    /// The number of topics (customer ids and event logs) that requests on this server are waiting
    /// for.
    package var awaitedIDCount: Int { context.db.signals.topicCount }
}

/// A short digest that identifies the content of an answer, the same on every server.
package enum ContentTag {
    /// The number of bytes of the SHA-256 that a tag contains.
    private static let bytes = 16

    package static func text(of content: [UInt8]) -> String {
        Hexadecimal.text(Array(SHA256.hash(data: content).prefix(bytes)))
    }
}
