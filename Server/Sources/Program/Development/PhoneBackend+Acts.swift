import AppStoreFormats
import Dashboard
import Foundation
import PerennialContract

// Turns each action into requests to the simulator and to the server.

extension PhoneBackend {
    func carryOut(_ act: PhoneAct) async throws {
        switch act {
        case .pass(let period): try await pass(until: date(after: period))
        case .goToDue: try await goToDue()
        case .startOver: try await startOver()
        case .openSheet(let product):
            let choices = try await before().seatChoices(of: product)
            (device.sheet, device.seats) = (product, choices.lowerBound)
        case .closeSheet: device.sheet = nil
        case .confirmSheet: try await buy()
        case .moreSeats: changeSeats(by: 1, try await before())
        case .fewerSeats: changeSeats(by: -1, try await before())
        case .switchGroup: device.showsGroup.toggle()
        case .invite: try await invite(try await running())
        case .join: try await joinGroup(try await before())
        case .remove(let claim): try await release(claim, isLeft: false, try await before())
        case .leave(let claim): try await release(claim, isLeft: true, try await before())
        case .switchRenewal: try await switchRenewal()
        case .switchCard: try await switchCard()
        case .switchScreen: device.showsChoices.toggle()
        case .switchParent: device.asksParent.toggle()
        case .switchFamily: try await switchFamily()
        case .switchConsumption: try await switchConsumption()
        case .requestRefund: try await requestRefund()
        case .restoreElsewhere: try await restoreElsewhere()
        case .approve: try await resolvePending("approve")
        case .decline: try await resolvePending("decline")
        case .restoreAsOther: try await restoreAsOther()
        }
    }

    /// Sends a request to the simulator.
    ///
    /// - Throws: ``Refusal`` if the simulator refuses.
    @discardableResult
    private func simulate(_ path: String, _ body: JSON = [:]) async throws -> JSON {
        let answer = try await settings.simulator.post(path, body)
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        return answer.json
    }

    /// The state before the action.
    private func before() async throws -> PhoneState {
        if let state { return state }
        return try await reread()
    }

    /// The customer's own subscription, while it is active.
    private func running() async throws -> BookedPurchase {
        guard let running = try await before().subscription, !running.isOver else {
            throw Refusal(sentence: "There is no subscription.")
        }
        return running
    }

    private var phonePath: String { "/_sim/devices/\(phone ?? "")" }

    /// Returns when the server has no work left at the current time.
    func quiesce() async throws { try await simulate("/_sim/clock", ["advance": "PT0S"]) }

    // MARK: - Time

    /// The maximum number of stops of the clock in one act, and the number of stops that the page
    /// shows.
    private static let (stopsMax, shownStopsMax) = (500, 14)
    private static let stopPause = Duration.milliseconds(150)

    /// Moves the clock. Stops at each moment at which something happens automatically, so that open
    /// pages show the events of the whole time.
    private func pass(until target: Timestamp) async throws {
        var state = try await reread()
        for stop in 0..<Self.stopsMax {
            guard let due = PhoneDue(state), due.at <= target else { break }
            try await set(clock: due.at)
            state = try await reread()
            if stop < Self.shownStopsMax, !pages.isEmpty {
                try await Task.sleep(for: Self.stopPause)
            }
        }
        if state.now < target { try await set(clock: target) }
    }

    private func set(clock: Timestamp) async throws {
        let start = try await before().now
        try await simulate("/_sim/clock", ["set": .string(clock.description)])
        if let sentence = Self.clockChange(from: start, to: clock) {
            say(sentence, by: "clock", result: "")
        }
    }

    /// The App Store uses the calendar of California.
    private static let storeZone = TimeZone(identifier: "America/Los_Angeles") ?? .gmt

    /// A sentence that explains why the hour of renewals in UTC has changed during the act. Nil if
    /// the hour has not changed.
    static func clockChange(from start: Timestamp, to end: Timestamp) -> String? {
        let shift =
            storeZone.secondsFromGMT(for: Date(end)) - storeZone.secondsFromGMT(for: Date(start))
        guard shift != 0 else { return nil }
        return """
            California has put its clocks \(shift < 0 ? "back" : "forward"). The App Store counts \
            by them: in UTC, renewals come an hour \(shift < 0 ? "later" : "earlier").
            """
    }

    /// Returns the moment after a period in the App Store's calendar, by which subscriptions renew.
    private func date(after period: PhonePeriod) async throws -> Timestamp {
        let now = try await reread().now
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = Self.storeZone
        let unit: Calendar.Component =
            switch period.unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        guard let end = calendar.date(byAdding: unit, value: period.count, to: Date(now)) else {
            throw Refusal(sentence: "The clock cannot be moved further.")
        }
        return Timestamp(milliseconds: Int64((end.timeIntervalSince1970 * 1000).rounded()))
    }

    private func goToDue() async throws {
        guard let due = PhoneDue(try await reread()) else {
            throw Refusal(sentence: "Nothing is due.")
        }
        try await set(clock: due.at)
    }

    /// Gives the phone to the next person. All other people keep their state.
    private func startOver() async throws {
        if device.sharesWithFamily { try await leaveFamily() }
        let left = Self.people.drop { $0 != customer }.dropFirst()
        for name in left {
            let (isBooked, isKnown) = try await (hasPurchases(name), isKnown(name))
            guard !isBooked, !isKnown else { continue }
            let otherPhone = otherPhone
            forget()
            (customer, self.otherPhone) = (name, otherPhone)
            phone = try await addDevice(of: name)
            return
        }
        throw Refusal(sentence: "All people of the cast have been used. Start with --fresh.")
    }

    // MARK: - Purchases

    private func buy() async throws {
        guard let product = device.sheet else { throw Refusal(sentence: "No sheet is open.") }
        device.sheet = nil
        let choice = device.cardWorks ? device.asksParent ? "ask" : "confirm" : "fail"
        var order = [JSON.Member("product_id", .string(product))]
        order.append(JSON.Member("choice", .string(choice)))
        if device.seats > 1 { order.append(JSON.Member("seats", .integer(Int64(device.seats)))) }
        // With the token, the purchase belongs to the customer from the beginning, even if Apple's
        // notification arrives before the app's post.
        if let token = try await accountToken() {
            order.append(JSON.Member("app_account_token", .string(token)))
        }
        let bought = try await simulate("\(phonePath)/purchases", .object(order))
        switch bought["result"]?.string {
        case "purchased": try await post(bought: bought)
        case "pending": say("A parent is asked. Nothing is bought yet.")
        case "cancelled": say("The purchase was cancelled.")
        default: say("The card is refused. Nothing is bought.")
        }
    }

    /// The token that the app gets from the server and sets at each purchase. Nil if the app's
    /// tokens identify something else.
    private func accountToken() async throws -> String? {
        if let token { return token }
        let path = "\(Paths.customer(customer))/account_token"
        let answer = try await settings.app.post(path)
        add(answer, to: "POST \(path)", by: "phone")
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        token = answer.json["account_token"]?.string
        return token
    }

    /// Posts the purchase, and finishes the transaction when the server has stored it.
    private func post(bought: JSON) async throws {
        let signed = [bought["signed_transaction"]].compactMap { $0 }
        let answer = try await post(signed, intent: "purchase", by: "phone")
        if answer.isSuccess, let id = bought["transaction_id"]?.string {
            try await simulate("\(phonePath)/transactions/\(id)/finish")
        }
        if device.sharesWithFamily { try await synchronizeRelative() }
    }

    /// Posts signed transactions as an app does.
    @discardableResult
    private func post(
        _ signed: [JSON], renewals: [JSON] = [], intent: String, as id: String? = nil,
        by who: String
    ) async throws -> LoopbackClient.Answer {
        let answer = try await settings.app.post(
            Paths.purchases,
            [
                "customer_id": .string(id ?? customer), "intent": .string(intent),
                "signed_transactions": .array(signed),
                "signed_renewal_infos": .array(renewals),
            ])
        add(answer, to: "POST \(Paths.purchases)", by: who)
        return answer
    }

    private func resolvePending(_ verb: String) async throws {
        guard let pending = try await before().pending else {
            throw Refusal(sentence: "No parent is asked.")
        }
        let answer = try await simulate("/_sim/transactions/\(pending.id)/\(verb)")
        say(verb == "approve" ? "Yes, buy it." : "No.", by: "parent", result: "")
        if answer["result"]?.string == "purchased" { try await post(bought: answer) }
    }

    // MARK: - Settings

    private func switchRenewal() async throws {
        let running = try await running()
        try await simulate(
            "/_sim/subscriptions/\(running.originalTransactionID)/"
                + (running.willRenew ? "cancel" : "resume"))
    }

    private func switchCard() async throws {
        let state = try await before()
        let works = !device.cardWorks
        device.cardWorks = works
        say(works ? "The card works again." : "The card will be refused from now on.")
        let own = state.books.filter {
            !$0.isShared && !$0.isOver && $0.renewsTo != nil
        }
        for purchase in own {
            try await simulate(
                "/_sim/subscriptions/\(purchase.originalTransactionID)/"
                    + (works ? "recover-billing" : "fail-billing"))
        }
    }

    private func switchConsumption() async throws {
        let consents = !device.allowsConsumption
        let path = "\(Paths.customer(customer))/consumption"
        let answer = try await settings.secret.replace(
            path, with: ["consented": .bool(consents)])
        add(answer, to: "PUT \(path)", by: "server")
        guard answer.isSuccess else { throw Refusal(sentence: answer.complaint) }
        device.allowsConsumption = consents
    }

    private func requestRefund() async throws {
        guard let id = try await before().refundableID else {
            throw Refusal(sentence: "There is nothing to refund.")
        }
        let answer = try await simulate(
            "\(phonePath)/refund-request", ["transaction_id": .string(id)])
        let result = answer["result"]?.string
        guard result == "success" else {
            throw Refusal(sentence: "Apple did not accept the request: \(result ?? "no result").")
        }
        say("Asks Apple for the money back.", result: "")
    }

    // MARK: - Other devices and people

    private func restoreElsewhere() async throws {
        let device = try await addDevice(of: customer)
        let answer = try await postRestored(on: device, intent: "restore", by: "iPad")
        if let answer { try explain(answer) }
        self.device.restoredCount += 1
    }

    /// Posts all purchases of a device after a restore. Returns nil if the device has no purchases.
    private func postRestored(
        on device: String, intent: String, as id: String? = nil, by who: String
    ) async throws -> LoopbackClient.Answer? {
        let restored = try await simulate("/_sim/devices/\(device)/restore")
        let signed = restored["signed_transactions"]?.array ?? []
        guard !signed.isEmpty else {
            // An app that posts automatically says nothing if there is nothing to post.
            if intent == "restore" { say("There is nothing to restore.", by: who) }
            return nil
        }
        let renewals = restored["signed_renewal_infos"]?.array ?? []
        return try await post(signed, renewals: renewals, intent: intent, as: id, by: who)
    }

    private func restoreAsOther() async throws {
        let answer = try await postRestored(
            on: phone ?? "", intent: "restore", as: Self.other, by: Self.other)
        if let answer { try explain(answer) }
    }

    /// Adds a sentence that explains the server's answer to a restore.
    private func explain(_ answer: LoopbackClient.Answer) throws {
        guard answer.isSuccess else {
            let code = answer.json["code"]?.string
            let isKept = code == ProblemCode.purchaseBelongsToAnotherCustomer.rawValue
            lines.append(
                .init(
                    "server",
                    .sentence(isKept ? "The purchase stays \(customer)’s." : answer.complaint),
                    detail: code))
            return
        }
        let verdicts = try Self.customer(answer).purchases.map(\.verdict.rawValue)
        let hasMoved = verdicts.contains { $0 != "theirs" }
        let what = hasMoved ? "This has changed:" : "\(customer) has it already: nothing moves."
        lines.append(
            .init(
                "server", .sentence(what), detail: hasMoved ? verdicts.joined(separator: ", ") : nil
            ))
    }

    private func switchFamily() async throws {
        guard !device.sharesWithFamily else {
            try await leaveFamily()
            return
        }
        if otherPhone == nil { otherPhone = try await addDevice(of: Self.other) }
        for account in [customer, Self.other] {
            try await simulate(
                "/_sim/families/\(customer)/join", ["account": .string(account)])
        }
        device.sharesWithFamily = true
        say("\(Self.other) is in the family of \(customer).", result: "")
        try await synchronizeRelative()
    }

    private func leaveFamily() async throws {
        for account in [Self.other, customer] {
            try await simulate(
                "/_sim/families/\(customer)/leave", ["account": .string(account)])
        }
        device.sharesWithFamily = false
        say("\(Self.other) has left the family.", result: "")
    }

    /// The family member's app posts the purchases that it finds.
    private func synchronizeRelative() async throws {
        _ = try await postRestored(
            on: otherPhone ?? "", intent: "sync", as: Self.other, by: Self.other)
    }
}

extension Date {
    fileprivate init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000)
    }
}
