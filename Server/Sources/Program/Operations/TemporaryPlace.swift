import Foundation

/// A folder for files that a command needs only while it runs. Only this user can read it.
struct TemporaryPlace {
    let folder: String

    /// - Parameters:
    ///   - name: a word in the folder's name, so that an operator knows which
    ///     command has left the folder behind.
    ///   - place: the folder in which it is made; nil for that of temporary files.
    /// - Throws: ``StartFailure`` if the folder cannot be made.
    init(named name: String, in place: String? = nil) throws(StartFailure) {
        let isTemporary = place == nil
        let place = place ?? FileManager.default.temporaryDirectory.path
        var path = Array("\(place)/perennial-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else {
            throw StartFailure(
                "No folder can be made in \(place): \(String(cString: strerror(errno))).",
                remedy: isTemporary
                    ? "Name a folder that this user may write with the variable TMPDIR."
                    : "Let this user write there.")
        }
        folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
