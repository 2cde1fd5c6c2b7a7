import HTTPBasics

/// The schemas of a device's network, sheets and errors.
extension OpenAPI {
    /// A device's verdict on a document.
    static let verdict = words(of: DocumentVerdict.self)

    static let phoneSchemas: [OpenAPIValue.Member] = [
        structure(
            "DeviceNetwork", ["state": words(of: NetworkState.self), "slow_seconds": number]),
        structure("NextSheets", ["waiting": whole]),
        structure("SheetsLetGo", ["let_go": whole]),
        structure("Prompts", ["prompts": list(reference("Prompt"))]),
        structure(
            "Prompt",
            [
                "cause": words(of: Prompt.Cause.self), "kind": words(of: Prompt.Kind.self),
                "product_id": orNull(text), "at": time,
                "choice": words(of: PurchaseOrder.Choice.self), "held": flag,
            ]),
        structure("Synced", ["result": words(["synced"])]),
        OpenAPIValue.Member("DeviceErrors", deviceErrors),
    ]

    /// The error of each call, or null.
    private static let deviceErrors: OpenAPIValue = {
        let calls = DeviceCall.allCases.map { call in
            OpenAPIValue.Member(call.rawValue, orNull(words(call.failures.map(\.rawValue))))
        }
        let verdicts = words(DocumentVerdict.failures.map(\.rawValue))
        return object(of: calls + [.init("verification", orNull(verdicts))], mayLack: [])
    }()
}
