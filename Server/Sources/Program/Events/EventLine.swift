import ArgumentParser
import Engine
import Foundation
import HTTPServer
import Ledger
import PerennialContract
import Storage

/// An event as a line of text.
struct EventLine {
    enum Format: String, ExpressibleByArgument {
        case text
        case json
    }

    /// The cursor after the event.
    let cursor: LogPosition
    let event: PerennialContract.Event

    /// - Parameter epochs: the epochs of the event's log.
    init(_ event: LoggedEvent, in epochs: LogEpochs) {
        cursor = LogPosition(epochs.current, event.sequence)
        self.event = Event(event, in: epochs)
    }

    func text(as format: Format) throws -> String {
        switch format {
        case .json: String(decoding: try ContractEncoder().encode(event), as: UTF8.self)
        case .text: words.map { VisibleText.encoded($0) }.joined(separator: "  ")
        }
    }

    /// Writes the line immediately, even if standard output is a pipe.
    func print(as format: Format) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((try text(as: format) + "\n").utf8))
    }

    private var words: [String] {
        let money = event.money.map { "\($0.amount) \($0.currency)" }
        let wallet = event.wallet.map { "\($0.amount) \($0.currency), now \($0.after)" }
        let state = event.after?.state.map { state in
            state.rawValue + (event.after?.until.map { " until \($0)" } ?? "")
        }
        return [
            "\(cursor)", "\(event.knownAt)", event.type.rawValue,
            event.customerID ?? event.accountToken.map { "token \($0)" } ?? "no customer",
        ]
            + [
                event.productID ?? event.grant?.entitlement, event.purchaseID, state, money, wallet,
                event.otherCustomerID.map { "other \($0)" },
            ].compactMap(\.self)
    }
}
