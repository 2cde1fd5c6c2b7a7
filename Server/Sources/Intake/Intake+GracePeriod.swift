import AppStoreFormats
import Ledger

extension Intake {
    /// Occasionally a notification or a response reports a grace period whose end is missing from
    /// its renewal info. Then two things are certain. First, the grace period has one of the
    /// lengths that the App Store offers ("Set up billing grace period"), counted from the time
    /// when the payment was due. Second, the grace period was not over when the document was
    /// signed. The shortest of these lengths is used. If the same information is repeated, the
    /// grace period is not extended. Later information may extend the grace period, up to the
    /// longest of these lengths. In the sandbox, a grace period lasts only minutes, and ends when
    /// the App Store reports its end.
    static let graceLengths: [Duration] = [.days(3), .days(6), .days(16), .days(28)]

    /// The end of the grace period that renewal info reports. `GracePeriod` in Ledger decides what
    /// it means for access.
    ///
    /// - Parameter isReported: whether the document that contains the renewal info says that there
    ///   is a grace period.
    static func graceEnd(
        of renewal: RenewalPayload, signedAt: AppStoreDate, isReported: Bool
    ) -> Instant? {
        if let named = renewal.gracePeriodExpiresDate { return instant(named) }
        guard isReported, let due = renewal.renewalDate.map(instant) else { return nil }
        let ends = graceLengths.map { due + $0 }
        return ends.first { instant(signedAt) < $0 } ?? ends.last
    }
}
