/// Rules of access that the operator decides, not the App Store.
package struct AccessRules: Hashable, Sendable {
    /// How long access stays open after a period's end while it is unknown whether the App Store
    /// renewed the subscription.
    package var unconfirmedHold: Duration
    package static let unconfirmedHoldDefault = Duration.hours(24)

    package init(unconfirmedHold: Duration = Self.unconfirmedHoldDefault) {
        self.unconfirmedHold = unconfirmedHold
    }
}
