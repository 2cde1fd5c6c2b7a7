import Foundation

/// The program `age`. It encrypts a file so that only the holder of a key can read it.
struct AgeProgram: Sendable {
    private let path: String

    /// The first bytes of every encrypted file.
    private static let header = Array("age-encryption.org/v1".utf8)
    /// The time after which the program is ended. It encrypts some hundred megabytes a second.
    private static let longest = Duration.hours(6)
    /// The maximum length of the program's message that is repeated in an error.
    private static let messageMax = 300

    /// - Parameter path: the folders in which programs are, as in the variable PATH.
    /// - Throws: ``StartFailure`` if the program is not installed.
    init(
        in path: String = ProcessInfo.processInfo.environment["PATH"] ?? ""
    ) throws(StartFailure) {
        let paths = path.split(separator: ":").map { "\($0)/age" }
        guard let found = paths.first(where: FileManager.default.isExecutableFile) else {
            throw StartFailure(
                "The program age, which encrypts backups, is not installed.",
                remedy: "Install it (`apt install age`) so that it is in the PATH of the server.")
        }
        self.path = found
    }

    /// Whether a file is encrypted by age.
    static func hasEncrypted(_ file: String) -> Bool {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: header.count)
        return read(descriptor, &bytes, bytes.count) == bytes.count && bytes == header
    }

    /// Encrypts a file into another file, which must already exist and keeps its permissions.
    ///
    /// - Parameter recipients: the public keys, `age1…`. The holder of one can decrypt the file.
    func encrypt(_ plain: String, into file: String, for recipients: [String]) async throws {
        let keys = recipients.flatMap { ["--recipient", $0] }
        try await run(
            keys + ["--output", file, "--", plain], of: plain,
            remedy: "Check the keys under `encrypt_to:`, and that the disk has space.")
        guard Self.hasEncrypted(file) else {
            throw StartFailure(
                "age has not encrypted \(plain).", remedy: "Run age by hand to see what it does.")
        }
    }

    /// Decrypts a file into another file, which must already exist and keeps its permissions.
    ///
    /// - Parameter identity: the file with the private key, `AGE-SECRET-KEY-1…`.
    func decrypt(_ file: String, into plain: String, with identity: String) async throws {
        try await run(
            ["--decrypt", "--identity", identity, "--output", plain, "--", file], of: file,
            remedy: "Name the file with the private key of a recipient with --identity, and check "
                + "that the disk has space.")
    }

    /// Kills the running program. SIGTERM would have no effect: this process ignores SIGTERM, which
    /// it handles by other means, and a child process inherits that.
    private static func kill(_ process: Process) {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    private func run(_ arguments: [String], of file: String, remedy: String) async throws {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        try Task.checkCancellation()
        let limit = Task {
            try await Task.sleep(for: Self.longest)
            Self.kill(process)
        }
        defer { limit.cancel() }
        let status = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = {
                    continuation.resume(returning: $0.terminationStatus)
                }
                do {
                    try process.run()
                    if Task.isCancelled { Self.kill(process) }
                } catch { continuation.resume(throwing: error) }
            }
        } onCancel: {
            Self.kill(process)
        }
        guard status == 0 else {
            // The buffer of a pipe is large enough for everything that age writes.
            let bytes = (try? errors.fileHandleForReading.readToEnd()) ?? nil
            let message =
                String(decoding: bytes ?? Data(), as: UTF8.self)
                .split(separator: "\n").first ?? "it ended with code \(status)"
            throw StartFailure(
                "\(file): \(message.prefix(Self.messageMax))", remedy: remedy)
        }
    }
}
