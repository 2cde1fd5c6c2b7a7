import AppStoreFormats

// Routes for the simulator's own knowledge: ground truth, and everything that was sent.

extension SimulatorRoute {
    static let groundTruthRoutes = [
        get(
            "/_sim/truth/{account}", "The ground truth: what an account may use now.",
            gives: .json("Books")
        ) { simulator, call in
            .json(try await simulator.groundTruth(of: call.parameter("account")).json)
        },
        get(
            "/_sim/notifications", "Lists every notification with its delivery attempts.",
            query: ["account"], gives: .json("SentNotifications")
        ) { simulator, call in
            let accounts = call.query["account"].map {
                Set($0.split(separator: ",").map(String.init))
            }
            let all = await simulator.sent(about: accounts)
            let (strays, own) = (all.filter(\.isStray), all.filter { !$0.isStray })
            let (signed, v1) = (own.filter { $0.v1 == nil }, own.filter { $0.v1 != nil })
            return .json([
                "notifications": .array((signed + v1).map(\.json)),
                "strays": .array(strays.map(\.json)),
            ])
        },
        get(
            "/_sim/consumption", "Lists the app's consumption responses in order of arrival.",
            gives: .json("ReceivedConsumption")
        ) { simulator, _ in
            .json([
                "received": .array(
                    await simulator.world.consumptionReceived.map { one in
                        [
                            "transaction_id": .string(one.transactionID),
                            "at": .string(RFC3339.text(one.at)), "body": one.body,
                            "counts": .bool(one.counts),
                        ]
                    })
            ])
        },
        get("/_sim/log", "The log since the last reset.", gives: .json("Log")) {
            simulator, _ in
            .json(["entries": .array(await simulator.log)])
        },
    ]
}

extension SentNotification {
    fileprivate var json: JSON {
        let attempts = self.attempts.map { attempt -> JSON in
            let status = attempt.result.status.map { JSON.Member("status", .integer(Int64($0))) }
            let error = attempt.result.error.map { JSON.Member("error", .string($0)) }
            let at = JSON.Member("at", .string(RFC3339.text(attempt.at)))
            return .object([at] + [status, error].compactMap { $0 })
        }
        return [
            "uuid": .string(draft.uuid), "version": v1 == nil ? "2.0" : "1.0",
            "type": v1?.type.json ?? draft.type.json,
            "subtype": v1 == nil ? draft.subtype?.json ?? .null : .null,
            "account": draft.account.map { .string($0) } ?? .null,
            "row": draft.row.map { .integer(Int64($0.rawValue)) } ?? .null,
            "environment": .string(draft.environment.rawValue),
            "at": .string(RFC3339.text(draft.at)),
            "signed_payload": v1 == nil ? .string(signedPayload) : .null,
            "body": v1?.notification.json ?? .null,
            "faults": .array(faults.map { .string($0.rawValue) }),
            "attempts": .array(attempts),
        ]
    }
}
