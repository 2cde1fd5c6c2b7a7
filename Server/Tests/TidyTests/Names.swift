/// Forbids meaningless names, and prefixes that hide what a function returns.
enum Names {
    /// Words that are forbidden anywhere in a name.
    private static let emptyWords: Set = ["Manager", "Helper", "Helpers", "Util", "Utils", "Impl"]
    /// Words with which a name of ours may not end.
    private static let emptyEndings: Set = ["Base", "Info", "Data", "Item", "Record", "Service"]
    /// Engine consists of services, which `Engine` lists by their subjects.
    private static let folderOfServices = "Server/Sources/Engine/"
    private static let emptyPrefixes: Set = ["get", "compute", "handle"]
    /// Verbs that had too many meanings in this repository. A function's name may not begin with
    /// them; STYLE.md lists the verbs to use instead.
    private static let vagueVerbs: Set = [
        "keep", "tell", "take", "put", "note", "end", "look", "ask", "answer", "settle", "hear",
        "wake",
    ]
    /// Functions of other modules' protocols, whose names are not ours to choose: `Tracing.Span`.
    private static let namesOfOthers: Set = ["end"]
    private static let foldersOfOurSources = ["Server/Sources/", "Sources/", "Server/Benchmarks/"]
    /// These folders use Apple's vocabulary, so Apple's names are allowed in them.
    private static let foldersOfApplesWords = [
        "Server/Sources/AppStoreFormats/", "Server/Sources/Simulator/", "Sources/StoreKit/",
    ]

    static func violations(in file: SourceFile) -> [Violation] {
        guard file.isSwift else { return [] }
        return declarations(in: file).compactMap { declaration in
            complaint(about: declaration, in: file.path).map { what, remedy in
                Violation(path: file.path, line: declaration.line, what: what, remedy: remedy)
            }
        }
    }

    struct Declaration: Equatable {
        let line: Int
        let kind: String
        let name: String
    }

    static func declarations(in file: SourceFile) -> [Declaration] {
        // In `class func`, the word `class` does not introduce a type.
        let declared =
            #/\b(func|var|let|struct|class|enum|actor|protocol)\s+(?!func\b|var\b)([A-Za-z_]\w*)/#
        return file.codeLines.enumerated().flatMap { index, line in
            line.matches(of: declared).map { match in
                Declaration(line: index + 1, kind: String(match.1), name: String(match.2))
            }
        }
    }

    private static func complaint(
        about declaration: Declaration, in path: String
    ) -> (what: String, remedy: String)? {
        let words = words(of: declaration.name)
        if let word = words.first(where: emptyWords.contains) {
            return (
                "The name \(declaration.name) holds the word \(word).",
                "name the thing for what it is or does."
            )
        }
        if declaration.kind == "func", words.count > 1,
            emptyPrefixes.contains(declaration.name.leadingWord)
        {
            return (
                "The function \(declaration.name) begins with \(declaration.name.leadingWord).",
                "name it for what it returns, access(at:), or for what it does, deliver()."
            )
        }
        if declaration.kind == "func", vagueVerbs.contains(declaration.name.leadingWord),
            !namesOfOthers.contains(declaration.name),
            foldersOfOurSources.contains(where: path.hasPrefix)
        {
            return (
                "The function \(declaration.name) begins with \(declaration.name.leadingWord).",
                "take the verb from the list in STYLE.md, such as record, append, emit, lease."
            )
        }
        let isType = declaration.name.first?.isUppercase == true
        let isApples = foldersOfApplesWords.contains { path.hasPrefix($0) }
        let isService = words.last == "Service" && path.hasPrefix(folderOfServices)
        if isType, !isApples, !isService, let last = words.last, emptyEndings.contains(last) {
            return (
                "The type \(declaration.name) ends with the word \(last).",
                "take the word from the table in ARCHITECTURE.md, or one that says more."
            )
        }
        return nil
    }

    /// The words of a name in camel case, each with a capital: `appStoreURL` → App, Store, URL.
    static func words(of name: String) -> [String] {
        var words: [String] = []
        var wasUppercase = false
        for character in name where character != "_" {
            if character.isUppercase && !wasUppercase || words.isEmpty {
                words.append(String(character).uppercased())
            } else {
                words[words.count - 1].append(character)
            }
            wasUppercase = character.isUppercase
        }
        return words
    }
}

extension String {
    /// The letters before the first capital letter.
    fileprivate var leadingWord: String { String(prefix { $0.isLowercase }) }
}
