import Foundation

/// The files of this repository. They are found from the path of this source file.
enum Repository {
    /// Folders that contain build products, not sources.
    private static let foldersLeftOut: Set = [
        "__pycache__", ".build", ".git", ".perennial", ".swiftpm", "dist", "venv",
    ]
    /// The size limit in bytes. A larger file is neither prose nor code.
    private static let fileBytesMax = 1_000_000

    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().standardizedFileURL

    private static let paths = paths(in: root, prefix: "").sorted()

    /// All text files, sorted by path. The files are read from disk once.
    static let files: [SourceFile] = paths.compactMap(file)

    /// All files and folders, including pictures, because a link may name any of them.
    static let places: Set<String> = Set(paths.flatMap(ancestors))

    private static func ancestors(of path: String) -> [String] {
        var parts = path.split(separator: "/")
        var found: [String] = []
        while !parts.isEmpty {
            found.append(parts.joined(separator: "/"))
            parts.removeLast()
        }
        return found
    }

    private static func paths(in folder: URL, prefix: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.flatMap { name -> [String] in
            let url = folder.appending(path: name)
            let isFolder = (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory
            guard isFolder == true else { return [prefix + name] }
            guard !foldersLeftOut.contains(name) else { return [] }
            return paths(in: url, prefix: prefix + name + "/")
        }
    }

    private static func file(_ path: String) -> SourceFile? {
        guard !path.hasSuffix("Package.resolved"),
            let bytes = try? Data(contentsOf: root.appending(path: path)),
            bytes.count <= fileBytesMax,
            let text = String(data: bytes, encoding: .utf8)
        else { return nil }
        return SourceFile(path: path, text: text)
    }
}
