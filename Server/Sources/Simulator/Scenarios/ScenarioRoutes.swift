import AppStoreFormats

// Named scenarios over HTTP.

extension SimulatorRoute {
    static let scenarioRoutes = [
        get(
            "/_sim/scenarios", "Lists the scenarios that can be run, with a summary of each.",
            gives: .json("Scenarios")
        ) { _, _ in
            .json([
                "scenarios": .array(
                    Scenario.all.map {
                        ["name": .string($0.name), "summary": .string($0.summary)]
                    })
            ])
        },
        post(
            "/_sim/scenarios/{name}",
            "Runs a scenario with a new customer, and moves the clock as required.", [],
            gives: .json("ScenarioRun")
        ) { simulator, call in
            let scenario = try Scenario.named(call.parameter("name"))
            return .json(try await simulator.run(scenario).json)
        },
    ]
}

extension ScenarioRun {
    fileprivate var json: JSON {
        [
            "scenario": .string(scenario.name), "account": .string(account),
            "device_id": .string(deviceID),
            "steps": .array(
                steps.map { ["at": .string(RFC3339.text($0.at)), "what": .string($0.what)] }),
            "notifications": .array(
                notifications.map { notice in
                    [
                        "type": notice.type.json, "subtype": notice.subtype?.json ?? .null,
                        "uuid": .string(notice.uuid), "at": .string(RFC3339.text(notice.at)),
                    ]
                }),
            "truth": groundTruth.json,
        ]
    }
}
