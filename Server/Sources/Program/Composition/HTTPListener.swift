import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

/// A web application that reports clearly why it cannot listen.
struct HTTPListener<App: ApplicationProtocol>: Service {
    var app: App
    var host: String
    var port: Int
    /// The command-line flag, or the setting, for choosing another port.
    var flag: String
    /// The command-line flag, or the setting, for choosing another host.
    var hostFlag = "--host"

    func run() async throws {
        try await ListenFailure(host: host, port: port, flag: flag, hostFlag: hostFlag)
            .explained { try await app.run() }
    }
}

/// Why an address cannot be listened on.
struct ListenFailure {
    var host: String
    var port: Int
    var flag: String
    var hostFlag: String

    /// Runs a closure that listens.
    ///
    /// - Throws: ``StartFailure`` if the address cannot be listened on.
    func explained(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as IOError {
            throw failure(errno: error.errnoCode) ?? error
        } catch is SocketAddressError {
            throw addressUnknown
        } catch is SocketAddressError.UnknownHost { throw addressUnknown }
    }

    private func failure(errno: CInt) -> StartFailure? {
        switch errno {
        case EADDRINUSE:
            StartFailure(
                "Port \(port) is in use.",
                remedy: "Stop the other program, or choose another port with \(flag).")
        case EACCES:
            StartFailure(
                "Port \(port) needs administrator rights.",
                remedy: "Choose one above 1023 with \(flag) and put a proxy in front of it.")
        case EADDRNOTAVAIL: addressUnknown
        default: nil
        }
    }

    private var addressUnknown: StartFailure {
        StartFailure(
            "\(host) is not an address of this machine.",
            remedy: "Listen on 127.0.0.1 behind a proxy, or on 0.0.0.0 for all of its addresses: "
                + "\(hostFlag).")
    }
}
