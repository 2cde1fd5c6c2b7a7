import Yams

/// Explains to the author of a text why it cannot be read as YAML.
struct YAMLProblem {
    private static let indentation: Set<Character> = [" ", "\t"]

    let problem: ConfigurationProblem

    /// - Parameter error: the error that Yams threw.
    /// - Parameter text: the text that Yams parsed.
    init(_ error: any Error, in text: String) {
        switch error {
        case YamlError.scanner(_, let problem, let mark, _),
            YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            let isTab = Self.isIndentedWithTab(mark.line, of: text)
            self.problem = isTab ? Self.tab(mark.line) : Self.unreadable(problem, mark.line)
        case YamlError.duplicatedKeysInMapping(let keys, let context):
            let names = keys.sorted().joined(separator: ", ")
            problem = ConfigurationProblem(
                line: context.mark.line,
                message: "\(names) \(keys.count == 1 ? "is" : "are") defined twice.",
                remedy: "Remove one of them, or rename it.")
        default: problem = Self.unreadable("\(error)", nil)
        }
    }

    private static func tab(_ line: Int) -> ConfigurationProblem {
        ConfigurationProblem(
            line: line, message: "The line is indented with a tab, which YAML does not allow.",
            remedy: "Use spaces.")
    }

    private static func unreadable(_ what: String, _ line: Int?) -> ConfigurationProblem {
        ConfigurationProblem(
            line: line, message: "This is not YAML: \(what).",
            remedy: "Check the indentation, the colons and the brackets.")
    }

    /// - Parameter line: counted from 1.
    private static func isIndentedWithTab(_ line: Int, of text: String) -> Bool {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard lines.indices.contains(line - 1) else { return false }
        return lines[line - 1].prefix(while: indentation.contains).contains("\t")
    }
}
