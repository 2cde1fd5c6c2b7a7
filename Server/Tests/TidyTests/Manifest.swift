/// Reads the targets from Server/Package.swift, to compare them with ``Arrows``.
///
/// Understands only the style of that manifest: `library("X", […])`, `tests("X", […])`, and
/// products that `let` binds to a name.
enum Manifest {
    struct Target: Equatable {
        let name: String
        let line: Int
        let dependencies: [String]
    }

    static func violations(in file: SourceFile) -> [Violation] {
        targets(in: file).flatMap { target -> [Violation] in
            guard let allowed = Arrows.table[target.name] else {
                return [violation(file, target, "The target \(target.name) is not in the table.")]
            }
            return target.dependencies.filter { !allowed.contains($0) && $0 != target.name }.map {
                violation(file, target, "\(target.name) depends on \($0), which it may not import.")
            }
        }
    }

    private static func violation(
        _ file: SourceFile, _ target: Target, _ what: String
    ) -> Violation {
        Violation(
            path: file.path, line: target.line, what: what,
            remedy: "drop the dependency, or add the arrow to Arrows.table with its reason.")
    }

    /// The calls of `library` and `tests`. Each target contains the module names of its
    /// dependencies.
    static func targets(in file: SourceFile) -> [Target] {
        let products = products(in: file.text)
        let call = /(?:library|tests)\(\s*"(\w+)"\s*(?:,\s*\[([^\]]*)\])?\s*\)/
        return file.text.matches(of: call).map { match in
            let line = file.text[..<match.range.lowerBound].filter { $0 == "\n" }.count + 1
            let words = (match.2 ?? "").split { ", \n".contains($0) }.map(String.init)
            let names = words.map { word in
                word.hasPrefix("\"") ? String(word.dropFirst().dropLast()) : products[word] ?? word
            }
            return Target(name: String(match.1), line: line, dependencies: names)
        }
    }

    private static func products(in text: String) -> [String: String] {
        let binding = /let (\w+) = Target\.Dependency\.product\(\s*name: "(\w+)"/
        let pairs = text.matches(of: binding).map { (String($0.1), String($0.2)) }
        return Dictionary(pairs) { one, _ in one }
    }
}
