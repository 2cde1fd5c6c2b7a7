/// Something in a configuration that is wrong or odd, where it stands, and what to do.
package struct Complaint: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1; nil where it is about the whole file.
    package var line: Int?
    package var message: String
    package var remedy: String

    package var description: String { text(file: "perennial.yaml") }

    package func text(file: String) -> String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(message) \(remedy)"
    }
}

/// All that is wrong with a configuration, so that it can be put right in one go.
package struct ConfigurationFailure: Error, Hashable, Sendable {
    package var complaints: [Complaint]
    /// As it was named.
    package var file = Settings.configDefault
}

/// Why a command was not begun, and what to do.
package struct StartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var message: String
    package var remedy: String

    package init(_ message: String, remedy: String) {
        self.message = message
        self.remedy = remedy
    }

    package var description: String { "\(message)\n  \(remedy)" }
}
