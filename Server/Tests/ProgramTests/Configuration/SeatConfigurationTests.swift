import Ledger
import Testing

@testable import Program

@Suite struct SeatConfigurationTests {
    private func file(_ text: String) throws(ConfigurationFailure) -> ConfigurationFile {
        try ConfigurationFile("apps:\n  a:\n    bundle_id: x\n    \(text)") { _ in nil }
    }

    @Test(
        arguments: [
            ("products: {}", [Environment.sandbox], false),
            ("seats: {tell_apple: []}", [], false),
            ("seats: {tell_apple: sandbox}", [.sandbox], false),
            ("seats: {tell_apple: [production, sandbox]}", [.production, .sandbox], true),
        ] as [(String, Set<Environment>, Bool)])
    func `seats are reported to Apple in the listed environments, by default in the sandbox`(
        text: String, told: Set<Environment>, isWarned: Bool
    ) throws {
        let file = try file(text)
        #expect(file.apps.first?.settings.seatReports == told)
        #expect(file.warnings.contains { $0.message.contains("sandbox only") } == isWarned)
    }

    @Test func `an unknown environment in the seat settings is reported with its remedy`() throws {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try file("seats: {tell_apple: [live]}")
        }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains("“live” is not an environment") }, "\(said)")
    }

    @Test func `the differences of two configurations show a change of seat reports`() throws {
        let before = try file("products: {}").apps[0].settings.lines
        let after = try file("seats: {tell_apple: [production, sandbox]}").apps[0].settings.lines
        #expect(
            Set(after).subtracting(before)
                == ["seats in production and sandbox are reported to Apple"])
    }
}
