internal import Foundation

/// Why a file of the SDK could not be read or written.
enum FileFailure: Error, Hashable {
    /// A system call failed. `code` is its `errno`.
    case system(call: String, code: Int32)
    /// The file is larger than its limit.
    case tooLarge
    /// Another process is the writer of this file, so this process may only read it.
    case notWriter

    /// The failure of the latest system call.
    static func last(_ call: String) -> FileFailure { .system(call: call, code: errno) }
}
