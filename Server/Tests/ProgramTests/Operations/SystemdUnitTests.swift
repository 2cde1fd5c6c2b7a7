import Foundation
import Testing

/// The systemd unit that the Debian package installs.
@Suite struct SystemdUnitTests {
    private static let path = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    private static func unit() throws -> String {
        let file = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../../deploy/debian/perennial.service").standardized
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// The maximum exposure of the unit in tenths, by `systemd-analyze security`. Without its
    /// security options, the unit has an exposure of 9.2, "UNSAFE".
    private static let exposureMax = 20

    @Test(.enabled(if: path != nil, "systemd-analyze is not installed"))
    func `the systemd unit removes permissions that the program does not need`() async throws {
        let program = try #require(Self.path)
        try await TemporaryFolder.with { folder in
            let file = folder + "/perennial.service"
            try Data(try Self.unit().utf8).write(to: URL(fileURLWithPath: file))
            let said = try await Shell.output(
                of: "\(program) security --offline=true --no-pager "
                    + "--threshold=\(Self.exposureMax) '\(file)' 2>&1 || echo refused $?")
            #expect(said.contains("Overall exposure level"), "\(said)")
            #expect(!said.contains("refused"), "\(said.suffix(400))")
        }
    }

    @Test func `the systemd unit keeps the permissions that the program needs`() throws {
        let unit = try Self.unit()
        for line in [
            "StateDirectory=perennial", "User=perennial",
            "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX", "Restart=on-failure",
        ] {
            #expect(unit.contains("\n\(line)\n"), "\(line)")
        }
    }
}
