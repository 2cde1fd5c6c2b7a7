import AppStoreClient
import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import Storage
import Traces

/// An engine made from a configuration, with its database and apps.
package struct Assembly: Sendable {
    package var engine: Engine
    package var database: any DatabaseDriver
    package var apps: [AppSettings]

    /// Why the database is opened.
    package enum Purpose {
        /// Creates the database if it does not exist, and migrates it.
        case serving
        /// The database must exist. Migrates it.
        case modifying
        /// The database must exist and have this program's schema version. The database is not
        /// changed.
        case inspecting
    }

    /// Opens the database and makes the engine.
    ///
    /// - Parameter purpose: whether the database may be created and migrated.
    /// - Parameter simulatorRoot: a root that simulated apps trust in addition to the configured
    ///   roots. Other apps ignore this root.
    /// - Parameter receiptRoot: like `simulatorRoot`, for receipts, which the simulator signs under
    ///   another root.
    /// - Parameter reconciliation: how purchases are checked with the App Store.
    /// - Parameter forwarding: how notifications are forwarded.
    /// - Parameter webhooks: how events are posted.
    /// - Parameter operators: how operators sign in.
    /// - Parameter erasures: the list of erasures outside of the database; nil if there is none.
    /// - Parameter traces: records spans; nil if no traces are sent.
    /// - Parameter copy: a copy of the database from which reports are read.
    /// - Throws: ``StartFailure`` if the database cannot be opened or migrated, or if a root cannot
    ///   be read.
    package init(
        apps: [AppConfiguration], databaseAddress: String, for purpose: Purpose = .serving,
        simulatorRoot: [UInt8]? = nil, receiptRoot: [UInt8]? = nil,
        now: @escaping @Sendable () -> Instant, reconciliation: ReconciliationSettings = .disabled,
        forwarding: ForwardingSettings = .disabled, webhooks: WebhookTransport = .disabled,
        operators: OperatorSettings = OperatorSettings(), erasures: ErasureList? = nil,
        traces: TraceRecorder? = nil, copy: (any DatabaseDriver)? = nil, logger: Logger
    ) async throws {
        let trust = SimulatorRoots(signatures: simulatorRoot, receipts: receiptRoot)
        let verifiers = try Self.verifiers(of: apps, trust)
        self.apps = apps.map(\.settings)
        database =
            switch purpose {
            case .serving: try DatabaseAddress.open(databaseAddress)
            case .modifying: try DatabaseAddress.open(databaseAddress, mayCreate: false)
            case .inspecting: try await DatabaseAddress.openForInspection(databaseAddress)
            }
        engine = Engine(
            database: database, apps: self.apps, verifiers: verifiers, now: now,
            reconciliation: reconciliation,
            forwarding: forwarding, webhooks: webhooks,
            signers: Self.signers(of: apps), operators: operators, erasures: erasures,
            traces: traces, copy: copy, logger: logger)
        guard purpose != .inspecting else { return }
        do {
            // If a database server does not respond, this check gives a clearer message than a
            // failed migration.
            if DatabaseAddress.isServer(databaseAddress) {
                _ = try await DatabaseAddress.version(of: database, at: databaseAddress)
            }
            try await engine.prepare()
        } catch let failure as StartFailure {
            database.close()
            throw failure
        } catch {
            database.close()
            if let failure = DatabaseAddress.unusable(databaseAddress, error) {
                throw failure
            }
            let address = DatabaseAddress.withoutPassword(databaseAddress)
            throw StartFailure(
                "The database \(address) could not be migrated: \(error).",
                remedy: "Check that it runs, restore a backup, or name another with --database.")
        }
    }

    /// Returns the verifier of each app.
    ///
    /// - Throws: ``StartFailure`` if a root cannot be read.
    static func verifiers(
        of apps: [AppConfiguration], _ simulator: SimulatorRoots
    ) throws(StartFailure) -> [AppID: Verifier] {
        var verifiers: [AppID: Verifier] = [:]
        for app in apps {
            let roots = app.extraRoots + (app.settings.isSimulated ? simulator.all : [])
            verifiers[app.settings.id] = Verifier(
                roots: try Self.roots(extra: roots, of: app.settings.id),
                xcode: try Self.xcode(app))
        }
        return verifiers
    }

    /// Returns the offer signer of each app that may sign offers.
    static func signers(of apps: [AppConfiguration]) -> [AppID: OfferSigner] {
        Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in
                app.offerSigner.map { (app.settings.id, $0) }
            })
    }

    /// Returns the roots that the developer of a simulated app has exported from Xcode. Nil for any
    /// other app.
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

    /// Returns Apple's roots and the extra ones.
    static func roots(extra: [[UInt8]], of app: AppID) throws(StartFailure) -> TrustRoots {
        guard !extra.isEmpty else { return .apple }
        do { return TrustRoots.apple.adding(try TrustRoots(der: extra)) } catch {
            throw unreadable(error, of: app)
        }
    }
}

/// The roots of a simulator. Simulated apps trust them in addition to the configured roots.
struct SimulatorRoots: Sendable {
    var signatures: [UInt8]?
    var receipts: [UInt8]?

    var all: [[UInt8]] { [signatures, receipts].compactMap(\.self) }
}

extension Instant {
    /// The current time of the machine's clock.
    package static var machine: Instant {
        Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
