import Foundation
import Ledger
import Storage

/// A row of the page Health that needs attention.
package struct HealthFinding: Hashable, Sendable {
    package var subject: AlertSubject
    /// The result of the check, in one sentence.
    package var sentence: String
    /// A command or a line of the configuration that fixes the problem.
    package var remedy: String?

    package init(_ subject: AlertSubject, _ sentence: String, remedy: String? = nil) {
        (self.subject, self.sentence, self.remedy) = (subject, sentence, remedy)
    }
}

/// One alert: what turned on the page Health, and what is still open there.
package struct AlertMessage: Hashable, Sendable, Codable {
    /// The maximum number of rows of each list.
    package static let linesMax = 50

    /// A row of the page Health.
    package struct Line: Hashable, Sendable, Codable {
        /// The app; nil for what concerns the server.
        package var app: String?
        package var name: String
        /// When it began to need attention, in milliseconds since 1970.
        package var sinceMilliseconds: Int64
        /// What was found. Nil for a row that is well again.
        package var sentence: String?
        package var remedy: String?

        package var since: Instant { Instant(milliseconds: sinceMilliseconds) }

        package init(_ subject: AlertSubject, since: Instant, _ finding: HealthFinding? = nil) {
            (app, name) = (subject.app?.rawValue, subject.name)
            sinceMilliseconds = since.milliseconds
            (sentence, remedy) = (finding?.sentence, finding?.remedy)
        }
    }

    package enum Kind: String, Hashable, Sendable, Codable {
        case needsAttention = "health.needs_attention"
        case wellAgain = "health.well_again"
        /// Somebody tries whether alerts arrive.
        case test = "health.test"
    }

    /// The same for each attempt to send the message.
    package var id: String
    package var kind: Kind
    package var atMilliseconds: Int64
    /// The rows that need attention since this message.
    package var turnedBad: [Line] = []
    /// The rows that are well again since this message.
    package var turnedWell: [Line] = []
    /// The rows of earlier messages that still need attention.
    package var stillBad: [Line] = []

    package var at: Instant { Instant(milliseconds: atMilliseconds) }

    private init(_ kind: Kind, id: String, at moment: Instant) {
        (self.kind, self.id) = (kind, id)
        atMilliseconds = moment.milliseconds
    }

    package static func test(id: String, at moment: Instant) -> Self {
        Self(.test, id: id, at: moment)
    }

    /// A message about rows that have turned. Returns nil if none has.
    package init?(
        bad: [Line], well: [Line], stillBad: [Line] = [], id: String, at moment: Instant
    ) {
        guard !bad.isEmpty || !well.isEmpty else { return nil }
        self.init(bad.isEmpty ? .wellAgain : .needsAttention, id: id, at: moment)
        turnedBad = Array(bad.prefix(Self.linesMax))
        turnedWell = Array(well.prefix(Self.linesMax))
        self.stillBad = Array(stillBad.prefix(Self.linesMax))
    }

    /// A message about the database, which concerns the server.
    package static func database(
        _ finding: HealthFinding, since: Instant, isOver: Bool, id: String, at moment: Instant
    ) -> Self {
        var message = Self(isOver ? .wellAgain : .needsAttention, id: id, at: moment)
        let line = Line(finding.subject, since: since, isOver ? nil : finding)
        if isOver { message.turnedWell = [line] } else { message.turnedBad = [line] }
        return message
    }

    /// The message as it is stored.
    var content: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    init(content: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(content.utf8))
    }
}
