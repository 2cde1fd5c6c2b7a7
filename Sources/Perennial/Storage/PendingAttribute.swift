internal import PerennialContract

/// A change of one attribute that the server has not acknowledged yet.
struct PendingAttribute: Hashable, Sendable {
    /// The customer for whom the app made the change. The change is sent for this customer, even
    /// after a log-out. Nil until the device knows the id of its anonymous customer.
    var customerID: String?
    var name: String
    /// The new value. Nil if the attribute is deleted.
    var value: String?
    var setAt: Moment
    /// The latest time that this device had sent to the server before the change was made. The
    /// change gets a later time, even if the device has corrected its clock backwards since. Nil if
    /// the device had sent no time.
    var after: Timestamp?

    /// A moment by both clocks of the device.
    struct Moment: Hashable, Sendable {
        /// The reckoned time.
        var time: Timestamp
        /// Milliseconds since the device started.
        var monotonic: Int64
        var bootID: String

        init(_ time: Timestamp, by clock: any DeviceClock) {
            self.init(time, monotonic: clock.monotonic(), bootID: clock.bootID())
        }

        init(_ time: Timestamp, monotonic: Int64, bootID: String) {
            self.time = time
            self.monotonic = monotonic
            self.bootID = bootID
        }
    }

    /// Identifies the attribute of a customer.
    struct Key: Hashable, Sendable {
        var customerID: String?
        var name: String
    }

    var key: Key { Key(customerID: customerID, name: name) }

    /// When the change was made, as far as it is known now. The time is later than each time that
    /// was sent before the change: so the change replaces an earlier value of the same attribute.
    func time(asOf now: Moment) -> Timestamp {
        let estimate = estimate(asOf: now)
        guard let after else { return estimate }
        return max(estimate, Timestamp(milliseconds: after.milliseconds + 1))
    }

    /// If the device was not restarted since the change, the time is counted back from now, because
    /// the device may have learned the right time after the change.
    private func estimate(asOf now: Moment) -> Timestamp {
        guard now.bootID == setAt.bootID, !now.bootID.isEmpty else { return setAt.time }
        let passed = max(0, now.monotonic - setAt.monotonic)
        return Timestamp(milliseconds: now.time.milliseconds - passed)
    }
}
