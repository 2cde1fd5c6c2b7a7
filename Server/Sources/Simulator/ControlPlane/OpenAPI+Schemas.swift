import HTTPBasics

/// The structures of responses, in JSON Schema. Routes and other structures refer to each by its
/// name.
extension OpenAPI {
    static let schemas: [OpenAPIValue.Member] =
        worldSchemas + faultSchemas + deviceSchemas + phoneSchemas + deviceLifeSchemas + shopSchemas
        + groundTruthSchemas + sentSchemas
}

// MARK: - The world

extension OpenAPI {
    private static let worldSchemas: [OpenAPIValue.Member] = [
        structure(
            "Problem",
            [
                "type": text, "title": text, "status": whole, "detail": text, "code": text,
                "remedy": text, "error": words(of: StoreKitFailure.self), "url_error": whole,
            ], mayLack: ["error", "url_error"]),
        structure("Health", ["status": words(["ok"]), "now": time]),
        structure(
            "Description",
            ["openapi": text, "info": foreign, "paths": foreign, "components": foreign]),
        structure("Clock", ["now": time, "rate": number]),
        structure("NewWorld", ["now": time, "rate": number, "warnings": list(text)]),
        structure("Population", ["accounts": list(text)]),
        structure(
            "Habits", ["habits": list(object(["name": text, "on": flag, "summary": text]))]),
        structure("Scenarios", ["scenarios": list(object(["name": text, "summary": text]))]),
        structure(
            "ScenarioRun",
            [
                "scenario": text, "account": text, "device_id": text,
                "steps": list(object(["at": time, "what": text])),
                "notifications": list(
                    object(["type": text, "subtype": orNull(text), "uuid": text, "at": time])),
                "truth": reference("Books"),
            ]),
        structure(
            "APIKey",
            ["key_id": text, "issuer_id": text, "bundle_id": text, "private_key": text]),
        structure("APIToken", ["token": text]),
        structure("OrderedStatuses", ["ordered": whole]),
    ]
}

// MARK: - Faults

extension OpenAPI {
    private static let faultSchemas: [OpenAPIValue.Member] = [
        structure(
            "Faults",
            [
                "notifications": layer(
                    NotificationFault.self,
                    ["delay_seconds": delay, "outage": orNull(reference("Outage"))]),
                "api": layer(
                    APIFault.self,
                    [
                        "slow_seconds": number, "stale_seconds": whole,
                        "retry_after_seconds": whole, "outage": orNull(reference("Outage")),
                    ]),
                "devices": layer(DeviceFault.self, [:]),
                "next": object([
                    "notifications": list(words(of: NotificationFault.self)),
                    "api": list(words(of: APIFault.self)),
                    "devices": list(words(of: DeviceFault.self)),
                ]),
                "struck": object([
                    "notifications": each(NotificationFault.self, whole),
                    "api": each(APIFault.self, whole), "devices": each(DeviceFault.self, whole),
                ]),
                "known": object([
                    "notifications": each(NotificationFault.self, text),
                    "api": each(APIFault.self, text), "devices": each(DeviceFault.self, text),
                ]),
            ]),
        structure("Outage", ["from": time, "until": time]),
    ]

    /// The schema of a delay: a number of seconds, or an object with the maximum number.
    private static let delay: OpenAPIValue = ["anyOf": [whole, object(["max": whole])]]

    /// The armed faults of a layer with their probabilities, and its other settings.
    private static func layer<Kind: FaultKind>(
        _ kind: Kind.Type, _ rest: KeyValuePairs<String, OpenAPIValue>
    ) -> OpenAPIValue {
        let odds = kind.allCases.map { OpenAPIValue.Member($0.rawValue, number) }
        return object(
            of: odds + rest.map { OpenAPIValue.Member($0.key, $0.value) },
            mayLack: Set(odds.map(\.name)))
    }

    /// An object with an optional member for each fault.
    private static func each<Kind: FaultKind>(_ kind: Kind.Type, _ content: OpenAPIValue)
        -> OpenAPIValue
    {
        let members = kind.allCases.map { OpenAPIValue.Member($0.rawValue, content) }
        return object(of: members, mayLack: Set(members.map(\.name)))
    }
}
