import AppStoreFormats

/// The app and environment that a part of a notification names.
struct NotificationPart {
    var bundleID: String?
    var appAppleID: Int64?
    var environment: StoreEnvironment?
    /// Whether all fields are required. They are required if Apple documents the part. For other
    /// parts, only the fields that exist are compared.
    var isDocumented = true
}

extension NotificationPart {
    /// The parts that this version knows.
    private static let known: [(name: String, read: @Sendable (NotificationPayload) -> Self?)] = [
        ("data", { $0.data.map { Self($0.bundleId, $0.appAppleId, $0.environment) } }),
        ("summary", { $0.summary.map { Self($0.bundleId, $0.appAppleId, $0.environment) } }),
        ("appData", { $0.appData.map { Self($0.bundleId, $0.appAppleId, $0.environment) } }),
        (
            "externalPurchaseToken",
            { $0.externalPurchaseToken.map { Self($0.bundleId, $0.appAppleId, $0.environment) } }
        ),
        (
            "unclaimInfo",
            {
                $0.unclaimInfo.map {
                    Self($0.bundleId, $0.appAppleId, $0.environment, isDocumented: false)
                }
            }
        ),
    ]

    /// The names of the known parts, for people.
    static let names = known.map(\.name).joined(separator: ", ")

    /// The parts of a notification that this version knows. If no documented part names the app,
    /// the result is every other part that names an app, including the payload itself.
    static func all(of payload: NotificationPayload) -> [Self] {
        let parts = known.compactMap { $0.read(payload) }
        guard !parts.contains(where: \.isDocumented) else { return parts }
        return parts + unknown(in: payload.unknown)
    }

    /// The maximum depth of nested parts, and the maximum number of compared parts.
    private static let depthMax = 4
    private static let countMax = 64

    private static func unknown(in members: [JSON.Member]) -> [Self] {
        guard !members.isEmpty else { return [] }
        var parts: [Self] = []
        add(.object(members), to: &parts, depth: 0)
        return parts
    }

    /// Adds the parts in a value and in all values within it, including signed ones.
    private static func add(_ json: JSON, to parts: inout [Self], depth: Int) {
        guard depth <= depthMax, parts.count < countMax else { return }
        switch json {
        case .object(let members):
            if let part = Self(unknown: json) { parts.append(part) }
            for member in members { add(member.value, to: &parts, depth: depth + 1) }
        case .array(let values):
            for value in values { add(value, to: &parts, depth: depth + 1) }
        case .string(let text):
            guard let payload = CompactJWS(Array(text.utf8))?.payload,
                let signed = try? JSON(parsing: payload)
            else { return }
            add(signed, to: &parts, depth: depth + 1)
        default: return
        }
    }

    /// Returns nil if the value is not an object, or if it names neither an app nor an environment.
    init?(unknown json: JSON) {
        guard json.members != nil else { return nil }
        self.init(
            json["bundleId"]?.string, json["appAppleId"]?.integer,
            json["environment"]?.string.map(StoreEnvironment.init(rawValue:)), isDocumented: false)
        guard bundleID != nil || appAppleID != nil || environment != nil else { return nil }
    }

    private init(
        _ bundleID: String?, _ appAppleID: Int64?, _ environment: StoreEnvironment?,
        isDocumented: Bool = true
    ) {
        self.init(
            bundleID: bundleID, appAppleID: appAppleID, environment: environment,
            isDocumented: isDocumented)
    }

    /// The environments that have the same name in all documents.
    private static let environments: Set<StoreEnvironment> = [
        .production, .sandbox, .xcode, .localTesting,
    ]

    /// Returns the environment that the part names, if any. Throws if it is for another app, or
    /// from an environment that is not accepted.
    func requireBinding(to app: AppIdentity) throws(Refusal) -> StoreEnvironment? {
        if isDocumented || bundleID != nil { try app.requireBundle(bundleID) }
        if isDocumented || appAppleID != nil {
            try app.requireAppleID(appAppleID, in: environment)
        }
        guard isDocumented || environment.map(Self.environments.contains) ?? false else {
            return nil
        }
        return try app.requireEnvironment(environment)
    }

    /// The app that an unverified notification claims to be for; nil if its parts name none.
    static func claim(in json: JSON) -> UnverifiedClaim? {
        let members = json.members ?? []
        let parts =
            known.compactMap { json[$0.name] }.compactMap(Self.init(unknown:))
            + unknown(in: members.filter { member in !known.contains { $0.name == member.key } })
        return parts.first { $0.bundleID != nil }.map {
            UnverifiedClaim(bundleID: $0.bundleID, environment: $0.environment)
        }
    }
}
