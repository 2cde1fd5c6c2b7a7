internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Explaining and diagnosing

extension Engine {
    func diagnose() async -> Perennial.Diagnosis {
        await open()
        var findings = await serverFindings()
        findings += await productFindings()
        // A finding that has the same text as a finding of the server is left out.
        let known = Set(findings.map(\.text))
        findings += boughtFindings().filter { !known.contains($0.text) }
        findings += await outboxFindings()
        findings += await attributes.findings
        findings.append(clockFinding())
        if state.isXcode {
            findings.append(
                .init(
                    isProblem: false,
                    text: "Xcode's local store signs the purchases: nothing is posted."))
        }
        return Perennial.Diagnosis(findings: findings)
    }

    private func serverFindings() async -> [Perennial.Diagnosis.Finding] {
        do {
            let ping = try await send(.get(Paths.ping, within: configuration.patience))
                .decode(Ping.self)
            return findings(in: ping)
        } catch {
            return [
                .init(
                    isProblem: true, text: "The server: \(error.failure.code.rawValue).",
                    remedy: error.failure.remedy)
            ]
        }
    }

    private func findings(in ping: Ping) -> [Perennial.Diagnosis.Finding] {
        var findings: [Perennial.Diagnosis.Finding] = [
            .init(
                isProblem: false,
                text: "The server answers for \(ping.app) (\(ping.bundleID)), "
                    + "version \(ping.serverVersion).")
        ]
        if ping.keyKind != "app" {
            findings.append(
                .init(
                    isProblem: true, text: "The app contains a secret key.",
                    remedy: "Replace it by an app key (pk_…), and end the secret key now."))
        }
        if let own = Bundle.main.bundleIdentifier, own != ping.bundleID, !ping.simulated {
            findings.append(
                .init(
                    isProblem: true, text: "The bundle id of this app is \(own).",
                    remedy: "Use the key of the app with this id, or change `bundle_id`."))
        }
        for product in ping.unknownProductIDs ?? [] {
            findings.append(
                .init(
                    isProblem: true, text: "The .storekit file has no product \(product).",
                    remedy: "Check the spelling in perennial.yaml."))
        }
        return findings + (ping.unlistedProducts ?? []).map { finding(about: $0) }
    }

    /// The finding about a product that was bought but is not listed, as the server reports it.
    private func finding(about product: UnlistedProduct) -> Perennial.Diagnosis.Finding {
        .init(
            isProblem: true, text: Self.unlistedText(product.productID), remedy: product.remedy)
    }

    private static func unlistedText(_ product: String) -> String {
        "\(product) was bought, and perennial.yaml does not list it: it gives nothing."
    }

    private func productFindings() async -> [Perennial.Diagnosis.Finding] {
        await fetchOfferings(within: configuration.patience)
        let ids = (state.offerings?.products ?? []).map {
            Perennial.ProductID(rawValue: $0.productID)
        }
        guard let (found, missing) = try? await products(ids) else {
            return [
                .init(
                    isProblem: true, text: "The App Store does not answer.",
                    remedy: "Try again later.")
            ]
        }
        return [.init(isProblem: false, text: "The App Store knows \(found.count) products.")]
            + missing.map {
                .init(isProblem: true, text: "\($0.id.rawValue) is missing.", remedy: $0.reason)
            }
    }

    /// Findings about products that this customer has bought but that `perennial.yaml` does not
    /// list.
    private func boughtFindings() -> [Perennial.Diagnosis.Finding] {
        guard let offerings = state.offerings, state.areOfferingsCurrent else {
            return [
                .init(
                    isProblem: true,
                    text: "The server has not said since the launch what each product gives.",
                    remedy: "Check the server's address and the network.")
            ]
        }
        let listed = Set(
            offerings.products.map(\.productID) + offerings.placements.flatMap(\.products))
        let bought = Dictionary(
            state.device.storeEvidence.transactions.values.map { ($0.productID, $0.kind) },
            uniquingKeysWith: { first, _ in first })
        let right = offerings.products.lazy.flatMap(\.entitlements).first ?? "pro"
        return bought.filter { !listed.contains($0.key) }.sorted { $0.key < $1.key }
            .map { product, kind in
                let line = kind == .consumable ? "{credits: {coins: 1}}" : "[\(right)]"
                return .init(
                    isProblem: true, text: Self.unlistedText(product),
                    remedy: "Add `\(product): \(line)` under `products`, with what it gives.")
            }
    }

    private func outboxFindings() async -> [Perennial.Diagnosis.Finding] {
        guard let outbox else {
            return [.init(isProblem: true, text: "The SDK's files cannot be used now.")]
        }
        let entries = await outbox.entries
        var findings: [Perennial.Diagnosis.Finding] = []
        let waiting = entries.filter { $0.state == .waiting }
        if !waiting.isEmpty {
            findings.append(
                .init(isProblem: false, text: "\(waiting.count) entries wait for the server."))
        }
        for entry in entries {
            guard case .setApart(let code) = entry.state else { continue }
            findings.append(
                .init(
                    isProblem: true, text: "The server refused a document (\(code)).",
                    remedy: "It stays unfinished, and is sent again once a day."))
        }
        return findings
    }

    private func clockFinding() -> Perennial.Diagnosis.Finding {
        let difference = clock.now().milliseconds - now.milliseconds
        guard abs(difference) > SnapshotPublisher.clockTolerance else {
            return .init(isProblem: false, text: "The device's clock is right.")
        }
        return .init(
            isProblem: true,
            text: "The device's clock is wrong by \(difference / 60_000) minutes.",
            remedy: "Access does not depend on it. Dates that the app shows do.")
    }
}

extension SnapshotPublisher {
    /// Why an entitlement is open or shut, according to the present evidence.
    func explain(_ entitlement: Perennial.EntitlementID) -> Perennial.Explanation {
        let decision = decision(on: entitlement.rawValue)
        return Perennial.Explanation(
            access: Perennial.Access(decision, of: entitlement), rule: decision.rule,
            steps: decision.steps.map {
                Perennial.Explanation.Step(
                    rule: $0.rule, basis: Perennial.Basis($0.basis),
                    purchase: $0.originalTransactionID, text: $0.text)
            } + clockSteps)
    }

    /// The SDK reports that the device's clock is wrong only if it differs from the reckoned time
    /// by more than this number of milliseconds.
    static let clockTolerance: Int64 = 5 * 60_000

    /// The steps about the device's clock. Empty if the clock is right.
    private var clockSteps: [Perennial.Explanation.Step] {
        let (now, shown, isCounted) = clockReading
        let text: String
        if !isCounted {
            text =
                "No time was signed since the device started, so its clock counts: it is \(now)."
        } else if abs(shown.milliseconds - now.milliseconds) > Self.clockTolerance {
            text =
                "The device's clock (\(shown)) is ignored. Signed documents prove that it is "
                + "\(now)."
        } else {
            return []
        }
        return [Perennial.Explanation.Step(rule: 8, basis: .nothing, purchase: nil, text: text)]
    }
}
