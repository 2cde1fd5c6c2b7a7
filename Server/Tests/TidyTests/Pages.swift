/// Checks that every page of the repository can be reached, and that every link has a target.
enum Pages {
    static let entrances: Set = ["README.md", "docs/README.md"]

    /// Relative links of a page that have no target. `places` are the files and folders that exist.
    static func violations(in file: SourceFile, places: Set<String>) -> [Violation] {
        guard file.isPage else { return [] }
        return links(of: file).compactMap { line, link in
            guard let place = place(of: link, from: file.path) else { return nil }
            guard !places.contains(place) else { return nil }
            return Violation(
                path: file.path, line: line, what: "The link \(link) leads nowhere.",
                remedy: "write the path from this page's folder, or take the link out.")
        }
    }

    /// Pages under docs/ to which neither README.md nor docs/README.md links.
    static func orphans(among files: [SourceFile]) -> [Violation] {
        let linked = Set(
            files.filter { entrances.contains($0.path) }.flatMap { page in
                links(of: page).compactMap { place(of: $0.link, from: page.path) }
            })
        return files.filter {
            $0.path.hasPrefix("docs/") && !entrances.contains($0.path) && !linked.contains($0.path)
        }.map {
            Violation(
                path: $0.path, line: 1, what: "No entrance links this file.",
                remedy: "link it from docs/README.md, or from README.md.")
        }
    }

    /// The tables that the section “Each table” of a page lists: in the first column of its table,
    /// and in the sentence about tables without rows about people.
    static func tables(listedIn page: SourceFile) -> [String] {
        let lines = page.lines.drop { $0 != "## Each table" }
        let rows = lines.filter { $0.hasPrefix("| `") }.compactMap {
            $0.split(separator: "|").first
        }
        let others = lines.drop { !$0.hasPrefix("Tables without rows about people: ") }
            .joined(separator: " ").prefix { $0 != "." }
        return (rows.map(String.init) + [String(others)]).flatMap { text in
            text.matches(of: #/`(\w+)`/#).map { String($0.1) }
        }
    }

    /// Links in Markdown and in HTML, outside fenced code, with their lines.
    static func links(of page: SourceFile) -> [(line: Int, link: String)] {
        var isFenced = false
        var found: [(Int, String)] = []
        for (index, line) in page.lines.enumerated() {
            if line.trimmingPrefix(while: \.isWhitespace).hasPrefix("```") { isFenced.toggle() }
            guard !isFenced else { continue }
            let markdown = line.matches(of: #/\]\(([^)\s]+)[^)]*\)/#).map { String($0.1) }
            let html = line.matches(of: #/(?:src|href|srcset)="([^"]+)"/#).map { String($0.1) }
            found += (markdown + html).map { (index + 1, $0) }
        }
        return found
    }

    /// The path of a link's target, from the repository's root; nil if the target is elsewhere or
    /// within the page.
    static func place(of link: String, from page: String) -> String? {
        let path = link.prefix { $0 != "#" && $0 != "?" }
        guard !path.isEmpty, !link.contains(":") else { return nil }
        var parts = page.split(separator: "/").dropLast().map(String.init)
        for part in path.split(separator: "/") {
            switch part {
            case ".": break
            case "..":
                // A link to a place above the root has no target in the repository.
                guard !parts.isEmpty else { return "../" + path }
                parts.removeLast()
            default: parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }
}
