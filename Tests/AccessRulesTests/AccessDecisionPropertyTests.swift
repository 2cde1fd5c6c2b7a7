import AccessRules
import PerennialContract
import Testing

/// Claims about access that hold for any evidence.
@Suite struct AccessDecisionPropertyTests {
    private static let evidencesMax = 400

    private func forEvidence(
        _ claim: String, times: Int = evidencesMax, _ check: (inout Dice, Evidence) throws -> Void
    ) rethrows {
        var dice = Dice(announcedBy: claim)
        for _ in 0..<times { try check(&dice, dice.evidence()) }
    }

    private func decide(_ evidence: Evidence, at now: Timestamp? = nil) -> AccessDecision {
        var evidence = evidence
        evidence.now = now ?? evidence.now
        return AccessRules.decision(on: "pro", by: evidence)
    }

    @Test func `the random evidence covers all kinds of evidence`() {
        var seen: [String: Int] = [:]
        forEvidence("kinds", times: 2000) { _, evidence in
            let decision = decide(evidence)
            seen["\(decision.isActive) \(decision.state.rawValue)", default: 0] += 1
            seen["rule \(decision.rule)", default: 0] += 1
            seen["\(decision.basis)", default: 0] += 1
        }
        for kind in [
            "true paid", "true owned", "true granted", "true grace", "true unconfirmed",
            "false expired", "false refunded", "false revoked", "false retry", "false never",
            "false unknown", "rule 1", "rule 2", "rule 4", "rule 5", "rule 6", "rule 7",
            "server", "token", "store", "held", "none",
        ] {
            #expect(seen[kind, default: 0] > 0, "\(kind): \(seen)")
        }
    }

    @Test func `an open decision is never marked as unknown`() {
        forEvidence("known") { _, evidence in
            let decision = decide(evidence)
            if decision.isActive { #expect(decision.isKnown) }
            #expect(decision.isKnown == (decision.state != .unknown))
            if decision.isActive, let until = decision.until { #expect(until > evidence.now) }
        }
    }

    @Test func `before the server has answered, access is open or unknown`() {
        forEvidence("silent server") { _, evidence in
            var first = evidence
            first.server = nil
            #expect(decide(first).isKnown == decide(first).isActive)
        }
    }

    @Test
    func `while a purchase without a verdict may open access, access is open or unknown`() {
        forEvidence("undecided") { dice, evidence in
            var undecided = evidence
            undecided.areMeaningsCurrent = false
            var document = dice.transaction("new", in: "new", dice.pick(["odd", "basic", "month"]))
            (document.revokedAt, document.isUpgraded, document.isAcknowledged) = (nil, false, false)
            document.expiresAt = dice.time(1...900)
            document.firstSeenFor = undecided.person
            undecided.store.record(document)
            #expect(decide(undecided).isKnown == decide(undecided).isActive)
        }
    }

    @Test func `if a hold ends without answers from store or server, access is open or unknown`() {
        forEvidence("silence", times: 2000) { _, evidence in
            var silent = evidence
            silent.serverAnsweredAt = nil
            silent.store.answeredAt = nil
            let held = decide(silent)
            guard held.rule == 6, let until = held.until else { return }
            let later = decide(silent, at: until)
            #expect(!later.isKnown || later.isActive)
        }
    }

    @Test func `untrusted evidence has no effect on whether access is open`() {
        forEvidence("untrusted") { _, evidence in
            var untrusted = evidence
            untrusted.store.isTrusted = false
            var silent = evidence
            silent.store = StoreEvidence()
            let decided = decide(untrusted)
            #expect(decided.isActive == decide(silent).isActive)
            // A purchase of untrusted evidence may still wait for a verdict. Then the decision is
            // unknown.
            if decided.isKnown { #expect(decided.answer == decide(silent).answer) }
        }
    }

    @Test func `a purchase of another person does not change the decision`() {
        forEvidence("another person") { dice, evidence in
            guard let id = evidence.originals.randomElement(using: &dice),
                evidence.server?.rights["pro"]?.originalTransactionID != id
            else { return }
            var ruled = evidence
            ruled.server?.verdicts[id] = .anotherPerson
            ruled.keptVerdicts[id] = .anotherPerson
            var without = ruled
            without.store.transactions = evidence.store.transactions.filter {
                $0.value.originalID != id
            }
            without.store.statuses[id] = nil
            #expect(decide(ruled).answer == decide(without).answer)
        }
    }

    @Test
    func `without a verdict, a purchase first seen for another customer leaves access unknown`() {
        forEvidence("first seen") { _, evidence in
            var evidence = evidence
            evidence.person = "cleo"
            evidence.server = nil
            evidence.keptVerdicts = [:]
            for id in evidence.store.transactions.keys {
                evidence.store.transactions[id]?.firstSeenFor = "anna"
            }
            evidence.store.statuses = [:]
            #expect(!decide(evidence).isKnown)
        }
    }

    @Test func `a decision changes exactly at the time that it names`() {
        forEvidence("changes") { dice, evidence in
            let decision = decide(evidence)
            let last = decision.changesAt ?? Timestamp(milliseconds: 400 * 86_400_000)
            #expect(last > evidence.now)
            for _ in 0..<8 {
                let moment = Timestamp(
                    milliseconds: .random(in: 0..<last.milliseconds, using: &dice))
                #expect(decide(evidence, at: moment).answer == decision.answer)
            }
            let before = Timestamp(milliseconds: last.milliseconds - 1)
            #expect(decide(evidence, at: before).answer == decision.answer)
            if decision.changesAt != nil {
                #expect(decide(evidence, at: last).answer != decision.answer)
            }
        }
    }

    @Test func `the passage of time alone never opens access`() {
        forEvidence("time", times: 2000) { dice, evidence in
            let later = dice.time(1...2000)
            if decide(evidence, at: later).isActive { #expect(decide(evidence).isActive) }
        }
    }

    @Test func `a lapse that was seen only once does not close access`() {
        forEvidence("lapse") { _, evidence in
            var once = evidence
            var subscribed = evidence
            for id in evidence.store.statuses.keys {
                once.store.statuses[id]?.state = .expired
                once.store.statuses[id]?.isConfirmed = false
                subscribed.store.statuses[id]?.state = .subscribed
            }
            #expect(decide(once).answer == decide(subscribed).answer)
        }
    }

    @Test func `an open purchase opens access, regardless of other evidence`() {
        forEvidence("more") { dice, evidence in
            var more = evidence
            more.store.isTrusted = true
            more.meanings = Situation.meanings
            let before = decide(more)
            var bought = dice.transaction("new", in: dice.pick(["new", "000"]), "month")
            guard !more.store.absent.contains("000"),
                bought.originalID == "new"
                    || more.keptVerdicts["000"] == nil && more.server?.verdicts["000"] == nil
                        && more.store.transactions["000"]?.productID == "month"
            else { return }
            (bought.revokedAt, bought.isUpgraded, bought.isAcknowledged) = (nil, false, false)
            (bought.firstSeenFor, bought.signedAt) = (more.person, Timestamp(milliseconds: 1))
            bought.expiresAt = dice.time(1...900)
            more.store.record(bought)
            if bought.originalID == "new" { #expect(decide(more).isActive) }
            if before.isActive { #expect(decide(more).isActive) }
        }
    }

    @Test func `if the server says open and knows all documents, access is open`() {
        forEvidence("answer") { _, evidence in
            var evidence = evidence
            for id in evidence.store.transactions.keys {
                evidence.store.transactions[id]?.isAcknowledged = true
            }
            evidence.server = ServerEvidence(
                asOf: Timestamp(milliseconds: 1), isLive: true, offlineUntil: nil,
                rights: [
                    "pro": .init(
                        isActive: true, state: .paid, until: Timestamp(milliseconds: 100),
                        mayRenew: true, originalTransactionID: "000")
                ], verdicts: [:])
            #expect(decide(evidence).isActive)
            // After the end that the answer names, access is held, whatever the evidence was
            // before.
            #expect(decide(evidence, at: Timestamp(milliseconds: 200)).isActive)
        }
    }

    @Test func `after a period's end, access is held open at most for the maximum time of a hold`()
    {
        forEvidence("hold") { _, evidence in
            let decision = decide(evidence)
            guard decision.rule == 6, let until = decision.until else { return }
            let holds = evidence.holdTimes
            #expect(until.milliseconds - evidence.now.milliseconds <= holds.silent)
            var answered = evidence
            answered.serverAnsweredAt = evidence.now
            let sooner = decide(answered)
            if sooner.rule == 6, let until = sooner.until {
                #expect(until.milliseconds - evidence.now.milliseconds <= holds.answered)
            }
            let over = Timestamp(milliseconds: holds.silent)
            #expect(
                decide(evidence, at: over).rule != 6 || decide(evidence, at: over).until != until)
        }
    }

    @Test func `access ends at most one hold after the latest known end`() {
        forEvidence("last hold") { _, evidence in
            var evidence = evidence
            evidence.store.transactions = evidence.store.transactions.filter {
                $0.value.kind != .nonConsumable
            }
            if evidence.server?.rights["pro"]?.until == nil { evidence.server = nil }
            // Ends are at most 1440 hours after now, and a hold adds 168 hours.
            #expect(!decide(evidence, at: Timestamp(milliseconds: 1609 * 3_600_000)).isActive)
        }
    }

    @Test func `a purchase that gives another entitlement does not change the decision`() {
        forEvidence("another right") { dice, evidence in
            var evidence = evidence
            evidence.areMeaningsCurrent = true
            guard decide(evidence).isKnown else { return }
            var more = evidence
            var document = dice.transaction("new", in: "new", "basic")
            document.firstSeenFor = nil
            more.store.record(document)
            let decision = decide(more)
            if decide(evidence).rule != 1 { #expect(decision.answer == decide(evidence).answer) }
            #expect(decision.isActive == decide(evidence).isActive)
        }
    }
}
