import Testing

@testable import Program

@Suite struct ProcessSettingsTests {
    @Test func `a flag takes precedence over a variable, and a variable over the file`() throws {
        let environment = ["PERENNIAL_PORT": "2", "PERENNIAL_DATABASE": "b", "PORT": "9"]
        let file = ["port": "3", "database": "c", "host": "0.0.0.0", "log_level": "debug"]
        let settings = try ProcessSettings(
            flags: ["port": "1"], environment: environment, file: file)
        #expect(settings.port == 1)
        #expect(settings.database == "b")
        #expect(settings.host == "0.0.0.0")
        #expect(settings.logLevel == .debug)
    }

    @Test func `the log level can be set by a variable`() throws {
        let settings = try ProcessSettings(
            flags: [:], environment: ["PERENNIAL_LOG_LEVEL": "error"], file: [:])
        #expect(settings.logLevel == .error)
    }

    @Test func `the lease of checks can be set by a variable or in the file`() throws {
        let variable = try ProcessSettings(
            flags: [:], environment: ["PERENNIAL_CHECK_LEASE_SECONDS": "60"], file: [:])
        #expect(variable.checkLease == .seconds(60))
        let file = try ProcessSettings(
            flags: [:], environment: [:], file: ["check_lease_seconds": "90"])
        #expect(file.checkLease == .seconds(90))
    }

    @Test func `metrics and secret keys can have separate addresses, by a variable or in the file`()
        throws
    {
        let settings = try ProcessSettings(
            flags: [:], environment: ["PERENNIAL_LISTEN_METRICS": "10.0.0.5:9090"],
            file: ["listen_secret": "[::1]:8081"])
        #expect(settings.metricsAddress == ListenAddress(host: "10.0.0.5", port: 9090))
        #expect(settings.secretAddress == ListenAddress(host: "::1", port: 8081))
    }

    @Test func `by default, the server listens only on this machine`() throws {
        let settings = try ProcessSettings(flags: [:], environment: [:], file: [:])
        #expect(settings.host == "127.0.0.1")
        #expect(settings.port == 8080)
        #expect(settings.database == ".perennial/perennial.sqlite")
    }

    @Test(arguments: [
        ["port": "http"], ["port": "-1"], ["port": "65536"], ["log_level": "loud"],
        ["check_lease_seconds": "soon"], ["check_lease_seconds": "4"],
        ["listen_metrics": "9090"], ["listen_metrics": "here:"], ["listen_metrics": ":9090"],
        ["listen_metrics": "a b:9090"], ["listen_metrics": "::1:9090"],
        ["listen_metrics": "127.0.0.1:99999"], ["listen_secret": "127.0.0.1:8080"],
        ["listen_secret": "0.0.0.0:8080"],
        ["listen_secret": "127.0.0.1:9090", "listen_metrics": "127.0.0.1:9090"],
    ])
    func `an invalid setting of the process is refused, not ignored`(flags: [String: String]) {
        #expect(throws: StartFailure.self) {
            try ProcessSettings(flags: flags, environment: [:], file: [:])
        }
    }
}
