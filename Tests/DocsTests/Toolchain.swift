import Eventually
import Foundation

/// The compiler that built these tests. It also compiles other sources.
enum Toolchain {
    struct Output: Sendable {
        var status: Int32
        var text: String
    }

    /// The folder of the repository.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The modules that these tests are linked with. `swift test` puts them beside the program.
    static let modules = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("Modules")

    /// The modules of `Tools/AppleStubs`, which `bin/check-apple` builds.
    static let stubs = root.appendingPathComponent("Tools/AppleStubs/.build/debug/Modules")

    static var hasStubs: Bool {
        FileManager.default.fileExists(
            atPath: stubs.appendingPathComponent("PerennialUI.swiftmodule").path)
    }

    /// Type-checks files as one module.
    static func typeCheck(_ files: [URL], module: String, modules: URL) throws -> Output {
        let compiler = try tool("swiftc").path
        // The macro of `#expect` is in a folder that the compiler does not search by itself.
        let macros = URL(fileURLWithPath: compiler).resolvingSymlinksInPath()
            .deletingLastPathComponent()
            .appendingPathComponent("../lib/swift/host/plugins/testing").standardized.path
        return try run(
            compiler,
            [
                "-typecheck", "-swift-version", "6", "-module-name", module, "-I", modules.path,
                "-plugin-path", macros,
            ] + files.map(\.path))
    }

    /// The public symbols of a module, as JSON: first the module's own symbols, then the symbols
    /// that it adds to other modules.
    static func symbolGraphs(of module: String, modules: URL) throws -> [Data] {
        try withFolder { folder in
            let output = try run(
                try tool("swift-symbolgraph-extract").path,
                [
                    "-module-name", module, "-target", target, "-I", modules.path,
                    "-output-dir", folder.path, "-minimum-access-level", "public",
                    "-skip-synthesized-members", "-skip-inherited-docs",
                ])
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            guard output.status == 0, !files.isEmpty else { throw ToolFailure(text: output.text) }
            return try files.map { try Data(contentsOf: folder.appendingPathComponent($0)) }
        }
    }

    /// Runs a closure with a new folder, and deletes the folder afterwards.
    static func withFolder<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("docs-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    /// Runs commands as a reader would paste them.
    static func shell(_ script: String) throws -> Output { try run("/bin/sh", ["-c", script]) }

    private static var target: String {
        #if arch(arm64)
            "aarch64-unknown-linux-gnu"
        #else
            "x86_64-unknown-linux-gnu"
        #endif
    }

    private static func tool(_ name: String) throws -> URL {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let found = folders.map { URL(fileURLWithPath: "\($0)/\(name)") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        guard let found else { throw ToolFailure(text: "\(name) is not on the PATH") }
        return found
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> Output {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let (status, bytes) = try process.output(withErrors: true)
        return Output(status: status, text: String(decoding: bytes, as: UTF8.self))
    }
}

/// The output of a compiler tool that failed.
struct ToolFailure: Error, CustomStringConvertible {
    var text: String
    var description: String { text }
}
