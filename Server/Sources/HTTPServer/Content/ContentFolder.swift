import Foundation

/// The folder with an app's content.
enum ContentFolder {
    /// Whether a file in a folder is a symbolic link, or is below one. A file behind a link is not
    /// sent, because it may be anywhere on the machine. The folder itself may be a link, because
    /// the configuration names it.
    static func isBehindLink(_ path: String, in folder: String) -> Bool {
        var place = folder
        return path.split(separator: "/").contains { name in
            place += "/\(name)"
            let attributes = try? FileManager.default.attributesOfItem(atPath: place)
            return attributes?[.type] as? FileAttributeType == .typeSymbolicLink
        }
    }
}
