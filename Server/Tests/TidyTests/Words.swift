/// Words that the text of the repository must not contain.
enum Words {
    static func violations(in file: SourceFile) -> [Violation] {
        var found = everywhere.flatMap { matches(of: $0, in: file.lines, of: file) }
        if !file.isPage { found += matches(of: leftOver, in: file.lines, of: file) }
        if file.isSwift {
            found += inCode.flatMap { matches(of: $0, in: file.codeLines, of: file) }
            found += emptyCatches(in: file)
        }
        if file.path.hasPrefix("Server/Sources/") {
            found += matches(of: publicWord, in: file.codeLines, of: file)
        }
        if file.path.hasPrefix("Server/Sources/Storage/"), !file.path.contains("/Schema/") {
            found += correlatedSelects(in: file)
        }
        if file.path.contains(#/^Server\/(Sources|Tests)\/(Storage\w*|Engine)\//#) {
            found += matches(of: position, in: file.codeLines, of: file)
        }
        if file.path.contains(#/^Server\/Sources\/(HTTPServer|Dashboard)\//#) {
            found += matches(of: session, in: file.codeLines, of: file)
        }
        return found
    }

    private struct Ban {
        let pattern: Regex<AnyRegexOutput>
        let what: String
        let remedy: String

        init(_ pattern: Regex<some Any>, _ what: String, remedy: String) {
            (self.pattern, self.what, self.remedy) = (Regex(pattern), what, remedy)
        }
    }

    private static func matches(
        of ban: Ban, in lines: [Substring], of file: SourceFile
    ) -> [Violation] {
        lines.enumerated().compactMap { index, line in
            guard line.contains(ban.pattern) else { return nil }
            return Violation(
                path: file.path, line: index + 1, what: ban.what, remedy: ban.remedy)
        }
    }

    /// Finds a `SELECT` with conditions among the columns of another one. A distributed PostgreSQL
    /// refuses such a statement.
    private static func correlatedSelects(in file: SourceFile) -> [Violation] {
        file.text.matches(of: /SELECT (?:(?!FROM|;)[^;])*?\(SELECT [^()]*WHERE/).map { match in
            let line = file.text[..<match.range.lowerBound].count { $0 == "\n" } + 1
            return Violation(
                path: file.path, line: line, what: "A SELECT among the columns of another one.",
                remedy: "join the table.")
        }
    }

    private static func emptyCatches(in file: SourceFile) -> [Violation] {
        file.code.matches(of: /\bcatch\b[^\{\}\n]*\{\s*\}/).map { match in
            let line = file.code[..<match.range.lowerBound].count { $0 == "\n" } + 1
            return Violation(
                path: file.path, line: line, what: "An empty catch swallows an error.",
                remedy: "throw it on, turn it into a value, or log it with what it means.")
        }
    }

    // The lists are computed because a Regex is not Sendable. Each pattern has one letter in
    // brackets, so that the check does not find its own pattern in this file.

    private static var everywhere: [Ban] {
        [
            Ban(
                #/\/(h[o]me|U[s]ers|r[o]ot|t[m]p)\/\w/#,
                "A path of the machine it was written on.",
                remedy: "write a path from the repository's root."),
            Ban(
                #/\b[Ii]ssue #?[0-9]+\b|\(#[0-9]+\)/#,
                "A number of an issue.",
                remedy: "say the reason itself; the number means nothing to a reader."),
        ]
    }

    private static var leftOver: Ban {
        Ban(
            #/\b(T[O]DO|F[I]XME|X[X]X|H[A]CK|not impleme[n]ted|unimpleme[n]ted)\b/#,
            "Something left over.",
            remedy: "finish it, or take it out and say in the closing note what is missing.")
    }

    private static var inCode: [Ban] {
        [
            Ban(
                #/\btry[!]/#, "try followed by an exclamation mark ends the program.",
                remedy: "let the error through with try; in a test too, as a test may throw."),
            Ban(
                #/\bfatalError\s*[(]/#, "fatalError hides whose fault it was.",
                remedy: "the world fails: throw. We fail: precondition with a sentence."),
            Ban(
                #/\bas[!]/#, "A forced cast ends the program.",
                remedy: "use as? with guard, or a type that needs no cast."),
        ]
    }

    private static var position: Ban {
        Ban(
            #/\.values\[\w|[\w\])?]\.(text|integer|bytes|instant|optional\w+)[(](\w+ \+ )?[0-9]/#,
            "A column is read by its position.",
            remedy: "read the row with a ColumnReader, in the order of the query.")
    }

    /// Routes may import Storage, but only for the values that services return.
    private static var session: Ban {
        Ban(
            #/\bDatabaseSession\b|\btx\./#, "A route reads or writes the database.",
            remedy: "call a service of Engine, which begins and ends the transaction.")
    }

    private static var publicWord: Ban {
        Ban(
            #/^\s*(@\w+(\([^)]*\))? +)*(public|open)\s/#,
            "The server has no public declarations.",
            remedy: "write package, or nothing.")
    }
}
