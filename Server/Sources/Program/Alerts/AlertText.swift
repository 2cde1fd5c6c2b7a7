import Engine
import Foundation
import Ledger
import PerennialContract

/// An alert as a person or a program reads it.
struct AlertText {
    let message: AlertMessage
    /// The address of the page Health; nil if there is no dashboard.
    let page: String?

    // MARK: - For a person

    /// One line, such as `Perennial: Webhooks of birds needs attention`.
    var subject: String {
        switch message.kind {
        case .needsAttention:
            "Perennial: \(Self.names(message.turnedBad, "needs attention", "need attention"))"
        case .wellAgain:
            "Perennial: \(Self.names(message.turnedWell, "is well again", "are well again"))"
        case .test: "Perennial: a test of the alerts"
        }
    }

    private static func names(_ lines: [AlertMessage.Line], _ one: String, _ many: String) -> String
    {
        guard lines.count == 1, let line = lines.first else {
            return "\(lines.count) checks \(many)"
        }
        return "\(line.name)\(line.app.map { " of \($0)" } ?? "") \(one)"
    }

    /// The whole message in plain text.
    var body: String {
        var parts = [
            Self.part("These checks need attention:", message.turnedBad),
            Self.part("These checks are well again:", message.turnedWell),
            Self.part("These checks still need attention:", message.stillBad),
        ].compactMap(\.self)
        if message.kind == .test {
            parts.append("Somebody has run `perennial alerts test`. Alerts arrive here.")
        }
        if let page { parts.append("Health: \(page)") }
        return parts.joined(separator: "\n\n") + "\n"
    }

    private static func part(_ heading: String, _ lines: [AlertMessage.Line]) -> String? {
        lines.isEmpty ? nil : ([heading] + lines.map(paragraph)).joined(separator: "\n\n")
    }

    private static func paragraph(_ line: AlertMessage.Line) -> String {
        let app = line.app.map { "\($0), " } ?? ""
        var texts = ["\(app)\(line.name), needed attention since \(line.since.minute)"]
        if let sentence = line.sentence {
            texts = ["\(app)\(line.name), since \(line.since.minute)", sentence]
        }
        if let remedy = line.remedy { texts.append("What to do: \(remedy)") }
        return texts.joined(separator: "\n").replacing("\n", with: "\n  ")
    }

    // MARK: - For a program

    private struct Body: Encodable {
        struct Check: Encodable {
            var app: String?
            var check: String
            var since: String
            var message: String?
            var remedy: String?

            init(_ line: AlertMessage.Line) {
                (app, check) = (line.app, line.name)
                since = Timestamp(milliseconds: line.sinceMilliseconds).description
                (message, remedy) = (line.sentence, line.remedy)
            }
        }

        struct Details: Encodable {
            var needsAttention: [Check]
            var wellAgain: [Check]
            var stillNeedsAttention: [Check]
            var dashboardURL: String?
        }

        var type: String
        var timestamp: String
        var text: String
        var data: Details
    }

    /// The body of a webhook, in the form that Standard Webhooks recommends, with the message for a
    /// person in `text`.
    var json: [UInt8] {
        get throws {
            let body = Body(
                type: message.kind.rawValue,
                timestamp: Timestamp(milliseconds: message.atMilliseconds).description,
                text: "\(subject)\n\n\(body)",
                data: .init(
                    needsAttention: message.turnedBad.map(Body.Check.init),
                    wellAgain: message.turnedWell.map(Body.Check.init),
                    stillNeedsAttention: message.stillBad.map(Body.Check.init),
                    dashboardURL: page))
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(body))
        }
    }
}
