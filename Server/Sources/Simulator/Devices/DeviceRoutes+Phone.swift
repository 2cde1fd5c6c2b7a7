import AppStoreFormats

// Device settings besides purchases: its network, its sheets, and errors of StoreKit.

extension SimulatorRoute {
    static let phoneRoutes = [
        post(
            "/_sim/devices/{id}/network", "Changes a device's connection to the store.",
            [
                Field("state", "string", "online, offline, slow or captive."),
                Field(
                    "slow_seconds", "number",
                    "Real time by which a slow network delays a call, at most 60; 5 at first."),
            ], gives: .json("DeviceNetwork")
        ) { simulator, call in
            .json(try await simulator.setNetwork(call.body, on: call.parameter("id")))
        },
        post(
            "/_sim/devices/{id}/next-sheet", "Sets what the customer does with the next sheet.",
            [
                Field("choice", "string", "confirm (default), cancel, ask or fail."),
                Field("error", "string", "What StoreKit throws, if the choice is to fail."),
                Field("hold", "boolean", "Whether the sheet stays open until it is released."),
            ], gives: .json("NextSheets")
        ) { simulator, call in
            let sheet = try nextSheet(call.body)
            let waiting = try await simulator.setNextSheet(sheet, on: call.parameter("id"))
            return .json(["waiting": .integer(Int64(waiting))])
        },
        post(
            "/_sim/devices/{id}/let-go", "Releases all held sheets of a device.", [],
            gives: .json("SheetsLetGo")
        ) { simulator, call in
            let count = try await simulator.letGo(on: call.parameter("id"))
            return .json(["let_go": .integer(Int64(count))])
        },
        get(
            "/_sim/devices/{id}/prompts",
            "The sheets and password prompts of a device; with count, waits for that many.",
            query: ["count"], gives: .json("Prompts")
        ) { simulator, call in
            let prompts = try await simulator.prompts(
                on: call.parameter("id"), atLeast: promptCount(call))
            return .json(["prompts": .array(prompts.map(\.json))])
        },
        post(
            "/_sim/devices/{id}/sync", "AppStore.sync(): asks for the password.", [],
            gives: .json("Synced")
        ) { simulator, call in
            try await simulator.confirm(.sync, as: .sync, on: call.parameter("id"))
            return .json(["result": "synced"])
        },
        post(
            "/_sim/devices/{id}/app-transaction/refresh",
            "AppTransaction.refresh(): asks for the password.", [],
            gives: .json("SignedAppTransaction")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.confirm(.refresh, as: .appTransaction, on: id)
            return .json(try await simulator.appTransactionJSON(on: id))
        },
        post(
            "/_sim/devices/{id}/errors", "Sets errors of StoreKit's calls, until set to null.",
            errorFields, gives: .json("DeviceErrors")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.setFailures(call.body, on: id)
            return .json(await simulator.failuresJSON(on: id))
        },
    ]

    private static let errorFields =
        DeviceCall.allCases.map { call in
            let names = call.failures.map(\.rawValue).joined(separator: ", ")
            return Field(call.rawValue, "string", "null, or one of \(names).")
        } + [
            Field(
                "verification", "string",
                "null, or one of "
                    + DocumentVerdict.failures.map(\.rawValue).joined(separator: ", ") + ".")
        ]

    private static func nextSheet(_ body: RequestBody) throws(SimulatorProblem) -> NextSheet {
        var sheet = NextSheet()
        if let name = try body.string("error") {
            let allowed = DeviceCall.purchase.failures
            guard let failure = StoreKitFailure(rawValue: name), allowed.contains(failure) else {
                let names = allowed.map(\.rawValue).joined(separator: ", ")
                throw RequestBody.invalidField("error", "one of \(names)")
            }
            (sheet.error, sheet.choice) = (failure, .fail)
        }
        if let choice = try PurchaseOrder.choice(body) {
            guard sheet.choice != .fail || choice == .fail else {
                throw .badRequest(
                    "A sheet with an error fails, whatever the choice.",
                    remedy: "Send `choice` fail, or no `error`.")
            }
            sheet.choice = choice
        }
        sheet.isHeld = try body.bool("hold") ?? false
        return sheet
    }

    private static func promptCount(_ call: Call) throws(SimulatorProblem) -> Int {
        guard let text = call.query["count"] else { return 0 }
        guard let count = Int(text), count >= 0 else {
            throw RequestBody.invalidField("count", "a number from 0")
        }
        return count
    }
}

extension Prompt {
    fileprivate var json: JSON {
        [
            "cause": .string(cause.rawValue), "kind": .string(kind.rawValue),
            "product_id": productID.map { .string($0) } ?? .null,
            "at": .string(RFC3339.text(at)), "choice": .string(choice.rawValue),
            "held": .bool(isHeld),
        ]
    }
}

extension AppStoreSimulator {
    fileprivate func setNetwork(_ body: RequestBody, on deviceID: String) async throws -> JSON {
        guard let network = NetworkState(rawValue: try body.requiredString("state")) else {
            let names = NetworkState.allCases.map(\.rawValue).joined(separator: ", ")
            throw RequestBody.invalidField("state", "one of \(names)")
        }
        let seconds = try body.number("slow_seconds")
        if let seconds, !(0...NetworkState.slowSecondsMax).contains(seconds) {
            throw RequestBody.invalidField(
                "slow_seconds", "0 to \(Int(NetworkState.slowSecondsMax)) seconds")
        }
        try await setNetwork(network, slowSeconds: seconds, on: deviceID)
        let slow = phones[deviceID]?.slowSeconds ?? NetworkState.slowSecondsDefault
        return ["state": .string(network.rawValue), "slow_seconds": .decimal("\(slow)")]
    }

    fileprivate func setFailures(
        _ body: RequestBody, on deviceID: String
    ) throws(SimulatorProblem) {
        var changes: [DeviceCall: StoreKitFailure?] = [:]
        for call in DeviceCall.allCases {
            if body.isNull(call.rawValue) { changes[call] = .some(nil) }
            guard let name = try body.string(call.rawValue) else { continue }
            guard let failure = StoreKitFailure(rawValue: name), call.failures.contains(failure)
            else {
                let names = call.failures.map(\.rawValue).joined(separator: ", ")
                throw RequestBody.invalidField(call.rawValue, "one of \(names)")
            }
            changes[call] = failure
        }
        var verdict: DocumentVerdict?? = body.isNull("verification") ? .some(nil) : nil
        if let name = try body.string("verification") {
            guard let ordered = DocumentVerdict(rawValue: name), ordered != .verified else {
                let names = DocumentVerdict.failures.map(\.rawValue).joined(separator: ", ")
                throw RequestBody.invalidField("verification", "one of \(names)")
            }
            verdict = ordered
        }
        try setFailures(changes, verdict: verdict, on: deviceID)
    }

    fileprivate func failuresJSON(on deviceID: String) -> JSON {
        let phone = phones[deviceID]
        let calls = DeviceCall.allCases.map { call in
            let failure = phone?.failures[call]
            return JSON.Member(call.rawValue, failure.map { .string($0.rawValue) } ?? .null)
        }
        let verdict = phone?.verdict.map { JSON.string($0.rawValue) } ?? .null
        return .object(calls + [.init("verification", verdict)])
    }
}
