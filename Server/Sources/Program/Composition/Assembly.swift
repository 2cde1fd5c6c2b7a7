import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import Storage

/// An engine out of a configuration, and what it stands on.
package struct Assembly: Sendable {
    package var engine: Engine
    package var database: any Database
    package var apps: [AppSettings]

    /// What a database is opened for.
    package enum Purpose {
        /// It is made where it is not there, and its tables are brought up to date.
        case serving
        /// It must be there, and its tables are brought up to date.
        case changing
        /// It must be there and of this program's version: nothing in it changes.
        case looking
    }

    /// Opens the database.
    ///
    /// - Parameter purpose: whether it is made where it is not there, and brought up to date.
    /// - Parameter simulatorRoot: trusted beside the configured ones by simulated apps, and by no
    ///   other.
    /// - Parameter receiptRoot: the same for receipts, which the simulator signs under a root of
    ///   its own.
    /// - Parameter asking: how the App Store is asked.
    /// - Parameter forwarding: how notifications are sent on.
    package init(
        apps: [AppConfiguration], databaseAddress: String, for purpose: Purpose = .serving,
        simulatorRoot: [UInt8]? = nil, receiptRoot: [UInt8]? = nil,
        now: @escaping @Sendable () -> Instant, asking: Asking = .nobody,
        forwarding: Forwarding = .nobody, logger: Logger
    ) async throws {
        var verifiers: [AppID: Verifier] = [:]
        for app in apps {
            var roots = app.extraRoots
            if app.settings.isSimulated {
                roots += [simulatorRoot, receiptRoot].compactMap { $0 }
            }
            verifiers[app.settings.id] = Verifier(
                roots: try Self.roots(extra: roots, of: app.settings.id),
                xcode: try Self.xcode(app))
        }
        self.apps = apps.map(\.settings)
        database =
            switch purpose {
            case .serving: try DatabaseAddress.open(databaseAddress)
            case .changing: try DatabaseAddress.open(databaseAddress, mayCreate: false)
            case .looking: try await DatabaseAddress.openToLook(databaseAddress)
            }
        engine = Engine(
            database: database, apps: self.apps, verifiers: verifiers, now: now, asking: asking,
            forwarding: forwarding,
            signers: Dictionary(
                uniqueKeysWithValues: apps.compactMap { app in
                    app.offerSigner.map { (app.settings.id, $0) }
                }), logger: logger)
        guard purpose != .looking else { return }
        do { try await engine.prepare() } catch {
            database.close()
            let address = DatabaseAddress.withoutPassword(databaseAddress)
            throw StartFailure(
                "The database \(address) could not be brought up to date: \(error).",
                remedy: "See that it runs, restore a backup, or name another with --database.")
        }
    }

    /// What the owner of a simulated app has exported from Xcode; nil for every other app.
    private static func xcode(_ app: AppConfiguration) throws(StartFailure) -> TrustRoots? {
        guard app.settings.isSimulated, !app.extraRoots.isEmpty else { return nil }
        do { return try TrustRoots(der: app.extraRoots) } catch {
            throw unreadable(error, of: app.settings.id)
        }
    }

    private static func unreadable(_ refusal: Refusal, of app: AppID) -> StartFailure {
        StartFailure(
            "A root certificate of app \(app) cannot be read: \(refusal).",
            remedy: "Save it as DER.")
    }

    /// Apple's roots, and others.
    static func roots(extra: [[UInt8]], of app: AppID) throws(StartFailure) -> TrustRoots {
        guard !extra.isEmpty else { return .apple }
        do { return TrustRoots.apple.adding(try TrustRoots(der: extra)) } catch {
            throw unreadable(error, of: app)
        }
    }
}

extension Instant {
    /// The machine's clock.
    package static var machine: Instant {
        Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
