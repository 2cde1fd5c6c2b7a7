import ArgumentParser
import AsyncHTTPClient
import Foundation
import Ledger
import RevenueCatClient

/// The options of commands that read a project at RevenueCat.
struct RevenueCatOptions: ParsableArguments {
    /// The environment variable with the key, so that no list of processes shows it.
    static let keyVariable = "REVENUECAT_SECRET_KEY"
    /// The maximum size of a file with ids, in bytes.
    private static let idsBytesMax = 268_435_456
    /// The maximum size of the file with RevenueCat's key, in bytes.
    private static let keyBytesMax = 4_096

    @Option(help: "RevenueCat's id of the project, such as proj1ab2c3d4.") var project: String?
    @Option(help: "A file with RevenueCat's secret key of version 2 (REVENUECAT_SECRET_KEY).")
    var keyFile: String?
    @Option(help: "The address of RevenueCat.") var from = RevenueCatClient.address
    @Option(help: "A file with more ids of customers, one on each line.") var customers: String?

    /// The project, with the key to read it.
    ///
    /// - Throws: ``StartFailure`` if an option is missing, or not valid.
    func access() throws(StartFailure) -> RevenueCatAccess {
        guard let project else {
            throw StartFailure(
                "--project is missing.",
                remedy: "Use the id in the address of the project's dashboard at RevenueCat, with "
                    + "`proj` in front.")
        }
        return RevenueCatAccess(
            project: project, key: try secretKey(), base: try Self.address(from))
    }

    /// RevenueCat's key.
    private func secretKey() throws(StartFailure) -> String {
        let text =
            if let keyFile { Disk.text(of: keyFile, bytesMax: Self.keyBytesMax) } else {
                ProcessInfo.processInfo.environment[Self.keyVariable]
            }
        guard let text else {
            throw StartFailure(
                keyFile.map { "\($0) cannot be read." } ?? "RevenueCat's key is missing.",
                remedy: "Set \(Self.keyVariable), or name a file with --key-file.")
        }
        let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard key.hasPrefix("sk_"), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw StartFailure(
                "This is not a secret key of RevenueCat.",
                remedy: "Create one of version 2 in RevenueCat's dashboard, under API keys. It "
                    + "begins with sk_.")
        }
        return key
    }

    /// - Returns: scheme, host and port.
    static func address(_ text: String) throws(StartFailure) -> String {
        guard let address = OutgoingAddress(text), address.isProtected,
            let origin = address.origin
        else {
            throw StartFailure(
                "“\(text)” is not an address of RevenueCat: see --from.",
                remedy:
                    "Leave it out, or write https, a host, and perhaps a port. http is accepted "
                    + "only for this machine.")
        }
        return origin
    }

    /// The ids in the file of `--customers`.
    func moreIDs() throws(StartFailure) -> [CustomerID] {
        guard let customers else { return [] }
        guard let text = Disk.text(of: customers, bytesMax: Self.idsBytesMax) else {
            throw StartFailure(
                "\(customers) cannot be read.",
                remedy: "Use a file of UTF-8 with at most \(Self.idsBytesMax) bytes, and one id "
                    + "on each line.")
        }
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .map { CustomerID(rawValue: $0) }
    }
}

/// A project at RevenueCat, and how to reach it.
struct RevenueCatAccess: Sendable {
    var project: String
    fileprivate var key: String
    fileprivate var base: String

    /// A client that prints repeated attempts to standard error, and says in plain words why there
    /// is no response.
    func client(over http: HTTPClient) -> RevenueCatClient {
        let send = RevenueCatClient.sender(http, base: base)
        return RevenueCatClient(
            project: project, key: key,
            send: { request in
                do { return try await send(request) } catch let failure as RevenueCatClientFailure {
                    throw failure
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    throw RevenueCatClientFailure.unavailable(NetworkTrouble.text(of: error))
                }
            }, report: { Outcome.printError($0) })
    }
}
