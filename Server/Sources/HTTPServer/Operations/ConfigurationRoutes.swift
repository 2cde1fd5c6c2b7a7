import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage
import Synchronization

/// A configuration that is not in force, which is read to find out what it would change.
package struct ProposedConfiguration: Sendable {
    /// Reads the text of a proposed configuration.
    ///
    /// - Throws: ``Refusal`` if the configuration could not take effect.
    package typealias Reading = @Sendable (_ text: String) throws -> ProposedConfiguration

    /// The settings of each of the configuration's apps.
    package var settings: [AppID: AppSettings]
    /// The changes of each app's rules, one line for each change.
    package var differences: [AppID: [String]]

    package init(settings: [AppID: AppSettings], differences: [AppID: [String]]) {
        self.settings = settings
        self.differences = differences
    }

    /// Why the configuration could not take effect.
    package struct Refusal: Error, Sendable {
        /// Texts for a person, without values from the configuration.
        package var problems: [String]

        package init(problems: [String]) { self.problems = problems }
    }
}

/// Allows only one preview at a time to examine all customers.
final class PreviewPlace: Sendable {
    private let isTaken = Mutex(false)

    /// - Throws: ``ProblemError`` if another preview is running.
    func reserve<Value>(_ body: () async throws -> Value) async throws -> Value {
        let wasTaken = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return isTaken
        }
        guard !wasTaken else { throw ProblemError(.previewRunning) }
        defer { isTaken.withLock { $0 = false } }
        return try await body()
    }
}

/// The route that shows what another configuration would change.
struct ConfigurationRoutes: RouteGroup {
    let server: PerennialServer

    /// The maximum size of a configuration's text, in bytes.
    static let bytesMax = 262_144
    /// The time limit for examining customers. The limit lets the answer arrive before a proxy ends
    /// the request.
    private static let previewTime = Duration.seconds(20)
    private static let problemsMax = 20

    var all: [Route] {
        [
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, Paths.configurationPreview, "previewConfiguration",
                    "What a configuration would change, and who would lose access",
                    description: """
                        Changes nothing, and neither stores nor logs the text. Looks at the \
                        customers of the key's app.
                        """, input: ConfigurationPreviewRequest.self,
                    output: .json(ConfigurationPreview.self)), preview)
        ]
    }

    @Sendable func preview(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.value(
            ConfigurationPreviewRequest.self, max: BodyLimit.configuration)
        return try JSONResponse.ok(
            try await preview(of: asked.configuration, for: holder.app))
    }

    /// Returns what a configuration would change now for an app and its customers. Writes nothing.
    ///
    /// - Throws: ``ProblemError`` if the text is not a configuration that could take effect.
    func preview(
        of text: String, for app: AppID
    ) async throws -> ConfigurationPreview {
        guard text.utf8.count <= Self.bytesMax else {
            throw ProblemError(.bodyTooLarge(bytesMax: Self.bytesMax))
        }
        let proposed = try proposed(text)
        var settings = try engine.context.settings(of: app)
        if let changed = proposed.settings[app] {
            settings = changed
        } else {
            // The proposed configuration has no such app, so nobody keeps access to it.
            settings.entitlements = [:]
        }
        let (engine, changed) = (engine, settings)
        let impact = try await server.previews.reserve {
            try await engine.maintenance.impact(of: changed, within: Self.previewTime)
        }
        return ConfigurationPreview(impact, differences: proposed.differences[app] ?? [])
    }

    private func proposed(_ text: String) throws -> ProposedConfiguration {
        guard let readsConfiguration = server.readsConfiguration else {
            throw ProblemError(.configurationNotRead)
        }
        do { return try readsConfiguration(text) } catch let refusal
            as ProposedConfiguration.Refusal
        {
            let problems = refusal.problems.prefix(Self.problemsMax).joined(separator: "\n")
            throw ProblemError(.configurationNotValid, detail: problems)
        }
    }
}

extension ConfigurationPreview {
    init(_ impact: Impact, differences: [String]) {
        self.init(
            differences: differences, customers: impact.customers, complete: impact.isWhole,
            entitlements: impact.changes.sorted { $0.key < $1.key }.map { part, change in
                Change(
                    entitlement: part.entitlement.rawValue,
                    environment: StoreEnvironment(part.environment), losing: change.losing,
                    gaining: change.gaining, losingIDs: change.firstLosing.map(\.rawValue),
                    gainingIDs: change.firstGaining.map(\.rawValue))
            })
    }
}
