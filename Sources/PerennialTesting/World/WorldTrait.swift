#if canImport(Testing)
    internal import Foundation
    internal import Perennial
    public import Testing

    /// A trait that runs a test in a separate ``World``, which ends with the test.
    ///
    ///     @Test(.world(storekit: "Shop.storekit"))
    ///     func `a purchase opens pro`() async throws {
    ///         let phone = try await World.current.device(of: "anna")
    ///         …
    ///     }
    ///
    /// If a suite has the trait, each of its tests has a separate world.
    public struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
        /// The StoreKit file and the configuration. If nil, the files of the example app are used.
        let files: Files?

        struct Files: Sendable {
            var storekit: String
            var configuration: String
            /// The test's source file. Relative paths begin at the folder of this file.
            var source: String
        }

        public var isRecursive: Bool { true }

        public func provideScope(
            for test: Test, testCase: Test.Case?,
            performing function: @Sendable () async throws -> Void
        ) async throws {
            let world = try await World.start(
                storekit: try files.map { try $0.url(of: $0.storekit) },
                configuration: try files.map { try $0.url(of: $0.configuration) })
            do {
                try await World.$running.withValue(world) { try await function() }
            } catch {
                await world.stop()
                throw error
            }
            await world.stop()
        }
    }

    extension WorldTrait.Files {
        /// The file at a path, relative to the test's folder or to a folder that contains that
        /// folder.
        func url(of path: String) throws -> URL {
            var folder = URL(fileURLWithPath: source).deletingLastPathComponent()
            while true {
                let url =
                    path.hasPrefix("/")
                    ? URL(fileURLWithPath: path) : folder.appendingPathComponent(path)
                if FileManager.default.fileExists(atPath: url.path) {
                    return url.standardizedFileURL
                }
                guard folder.path != "/", !path.hasPrefix("/") else { break }
                folder.deleteLastPathComponent()
            }
            throw WorldFailure("There is no \(path) beside \(source) or in a folder above it.")
        }
    }

    extension Trait where Self == WorldTrait {
        /// Gives the test a world of the example app, which sells `pro.monthly`, `pro.yearly`,
        /// `guide`, `season.spring` and `seeds.100`.
        public static var world: Self { Self(files: nil) }

        /// Gives the test a world of your app.
        ///
        /// - Parameters:
        ///   - storekit: the StoreKit file that the configuration names. Paths are relative to the
        ///     folder of the test, or to a folder that contains that folder.
        ///   - configuration: your `perennial.yaml`, with `simulated: true`.
        ///   - source: the file of the test.
        public static func world(
            storekit: String, configuration: String = "perennial.yaml", source: String = #filePath
        ) -> Self {
            Self(
                files: WorldTrait.Files(
                    storekit: storekit, configuration: configuration, source: source))
        }
    }
#endif

extension World {
    @TaskLocal static var running: World?

    /// The world of the running test, which the trait `.world` has started.
    ///
    /// - Throws: ``WorldFailure`` if the test has no such trait.
    public static var current: World {
        get throws {
            guard let running else {
                throw WorldFailure("The test has no world: write @Test(.world).")
            }
            return running
        }
    }
}
