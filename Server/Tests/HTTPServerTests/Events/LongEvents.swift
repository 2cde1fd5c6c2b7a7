import Ledger

@testable import Storage

extension ListeningServer {
    /// Appends events of about 4 KB each to the log of the app `birds`.
    func appendLongEvents(_ count: Int) async throws {
        let name = String(repeating: "x", count: 4_000)
        let entries = (1...count).map { number in
            EventEntry(
                app: "birds", customer: "anna", purchase: nil,
                change: Change(.aliasAdded, at: TestServer.now), knownAt: TestServer.now,
                cause: .request, other: CustomerID(rawValue: "\(name)\(number)"))
        }
        try await Database(database).transaction { try $0.events.append(entries) }
    }
}
