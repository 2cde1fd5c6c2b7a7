import Foundation
import Perennial

/// Writes lines of plain text.
enum Screen {
    /// Writes a line at once, even into a pipe.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    static func ask(_ question: String) -> String? {
        FileHandle.standardOutput.write(Data("\(question) ".utf8))
        return readLine()?.trimmingCharacters(in: .whitespaces)
    }

    static func show(_ paywall: Perennial.PaywallContent) {
        say("")
        say("  \(paywall.headline.text ?? "")")
        for (index, row) in paywall.rows.enumerated() {
            let button = row.actionTitle.map { "[\($0)]" } ?? "✓"
            let title = row.title.padding(toLength: 30, withPad: " ", startingAt: 0)
            let status = row.status.map { "  \($0)" } ?? ""
            say("  \(index + 1)  \(title) \(row.terms ?? row.price)  \(button)\(status)")
        }
    }
}
