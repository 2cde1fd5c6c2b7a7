import PerennialContract

/// The guided tour of five steps. A step is marked as done once its result exists, however the user
/// has achieved it.
struct PhoneTour: Hashable, Sendable {
    enum Step: String, Hashable, Sendable, CaseIterable {
        case buy = "Buy a month"
        case pass = "Let a month go by"
        case fail = "Let the card fail, another month"
        case restore = "Fix the card, restore on another device"
        case refund = "Ask for a refund, let Apple decide"
    }

    let done: Set<Step>
    /// The button that the next step needs. Nil if all steps are done.
    let hint: PhoneAct?

    var next: Step? { Step.allCases.first { !done.contains($0) } }

    init(_ state: PhoneState) {
        let done = Self.done(in: state)
        self.done = done
        let next = Step.allCases.first { !done.contains($0) }
        hint = next.flatMap { Self.hint(for: $0, in: state) }
    }

    private static let begun: Set<EventType> = [.purchased, .trialStarted, .resubscribed]
    private static let continued: Set<EventType> = [
        .renewed, .trialConverted, .productChanged, .billingRecovered,
    ]

    private static func done(in state: PhoneState) -> Set<Step> {
        var done: Set<Step> = []
        for event in state.events where state.product(event.productID)?.period != nil {
            if begun.contains(event.type) { done.insert(.buy) }
            if continued.contains(event.type) { done.insert(.pass) }
            if event.type == .billingFailed { done.insert(.fail) }
        }
        let wasRefunded = state.events.contains { $0.type == .refunded }
        if wasRefunded || state.device.hasRefundDecision { done.insert(.refund) }
        if state.device.restoredCount > 0 { done.insert(.restore) }
        return done
    }

    private static func hint(for step: Step, in state: PhoneState) -> PhoneAct? {
        if state.device.sheet != nil { return .confirmSheet }
        if state.pending != nil { return .approve }
        let hint = hintOnApp(for: step, in: state)
        // The button that the step needs is on the other screen.
        let isElsewhere = [.goToDue, .pass(PhonePeriod(1, .month))].contains(hint)
        if isElsewhere { return hint }
        if state.showsGroup { return .switchGroup }
        return state.device.showsChoices ? .switchScreen : hint
    }

    private static func hintOnApp(for step: Step, in state: PhoneState) -> PhoneAct? {
        let buy = state.products.first { $0.period != nil }.map { PhoneAct.openSheet($0.id) }
        let month = PhoneAct.pass(PhonePeriod(1, .month))
        let running = state.subscription.flatMap { $0.isOver ? nil : $0 }
        guard let running else {
            return step == .restore ? .restoreElsewhere : state.device.cardWorks ? buy : .switchCard
        }
        if [.pass, .fail].contains(step), !running.willRenew { return .switchRenewal }
        return switch step {
        case .buy: buy
        case .pass: running.isRetried ? .switchCard : month
        case .fail: state.device.cardWorks ? .switchCard : month
        case .refund where state.refund != nil: .goToDue
        case .restore: running.isRetried ? .switchCard : .restoreElsewhere
        case .refund: running.isRetried ? .switchCard : .requestRefund
        }
    }
}
