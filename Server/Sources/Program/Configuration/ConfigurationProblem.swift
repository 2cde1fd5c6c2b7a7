/// A problem or an oddity in a configuration: its line, its description, and what to do.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The line, counted from 1. Nil if the problem is about the whole file.
    package var line: Int?
    package var message: String
    package var remedy: String

    package var description: String { text(file: "perennial.yaml") }

    package func text(file: String) -> String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(message) \(remedy)"
    }
}

extension [ConfigurationProblem] {
    /// The problems, sorted by line. Problems of the whole file come first.
    var inFileOrder: Self { sorted { ($0.line ?? 0) < ($1.line ?? 0) } }
}

/// All problems of a configuration. They are reported together, so that the user can fix all of
/// them at once.
package struct ConfigurationFailure: Error, Hashable, Sendable {
    package var complaints: [ConfigurationProblem]
    /// The file's path, as given by the user.
    package var file = ProcessSettings.configDefault
}

/// Why a command did not start, and what to do.
package struct StartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var message: String
    package var remedy: String

    package init(_ message: String, remedy: String) {
        self.message = message
        self.remedy = remedy
    }

    package var description: String { "\(message)\n  \(remedy)" }
}
