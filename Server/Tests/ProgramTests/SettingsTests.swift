import Testing

@testable import Program

@Suite struct SettingsTests {
    @Test func `a flag beats a variable, and a variable beats the file`() throws {
        let environment = ["PERENNIAL_PORT": "2", "PERENNIAL_DATABASE": "b", "PORT": "9"]
        let file = ["port": "3", "database": "c", "host": "0.0.0.0", "log_level": "debug"]
        let settings = try Settings(flags: ["port": "1"], environment: environment, file: file)
        #expect(settings.port == 1)
        #expect(settings.database == "b")
        #expect(settings.host == "0.0.0.0")
        #expect(settings.logLevel == .debug)
    }

    @Test func `the log level can be a variable`() throws {
        let settings = try Settings(
            flags: [:], environment: ["PERENNIAL_LOG_LEVEL": "error"], file: [:])
        #expect(settings.logLevel == .error)
    }

    @Test func `how long a question is one server's can be a variable, or stand in the file`()
        throws
    {
        let variable = try Settings(
            flags: [:], environment: ["PERENNIAL_CHECK_LEASE_SECONDS": "60"], file: [:])
        #expect(variable.checkLease == .seconds(60))
        let file = try Settings(
            flags: [:], environment: [:], file: ["check_lease_seconds": "90"])
        #expect(file.checkLease == .seconds(90))
    }

    @Test func `without any setting only this machine is listened to`() throws {
        let settings = try Settings(flags: [:], environment: [:], file: [:])
        #expect(settings.host == "127.0.0.1")
        #expect(settings.port == 8080)
        #expect(settings.database == ".perennial/perennial.sqlite")
    }

    @Test(arguments: [
        ["port": "http"], ["port": "-1"], ["port": "65536"], ["log_level": "loud"],
        ["check_lease_seconds": "soon"], ["check_lease_seconds": "4"],
    ])
    func `a setting that is not sensible is refused and not passed over`(flags: [String: String]) {
        #expect(throws: StartFailure.self) {
            try Settings(flags: flags, environment: [:], file: [:])
        }
    }
}
