package import PerennialContract

/// The present time, as far as signed times prove it. A user can set the device's clock. So the
/// device's clock is used only after a restart, and only until the next signed time arrives.
///
/// While the device runs, the time is the anchor plus the time that a monotonic clock has counted
/// since the anchor was set. The monotonic clock must also count while the device sleeps.
package struct ReckonedClock: Hashable, Sendable {
    /// The latest signed time. Nil until a signed time arrives.
    package private(set) var anchor: Anchor?
    /// Whether the anchor is proven. Until the anchor is proven, the later of the reckoned time and
    /// the device's clock counts, because a forged anchor must not give access.
    package private(set) var isProven: Bool

    package init(anchor: Anchor? = nil, isProven: Bool = true) {
        (self.anchor, self.isProven) = (anchor, isProven)
    }

    /// A signed time, and when it was received.
    package struct Anchor: Hashable, Sendable {
        package var signed: Timestamp
        /// The milliseconds since the device started.
        package var monotonic: Int64
        /// Identifies the period since the device was started. Empty if the signed time is only a
        /// lower limit, from which no time is counted.
        package var bootID: String

        package init(signed: Timestamp, monotonic: Int64, bootID: String) {
            self.signed = signed
            self.monotonic = monotonic
            self.bootID = bootID
        }

        /// The time that is counted from the anchor. Nil if the device was restarted since the
        /// anchor was set.
        fileprivate func now(monotonic: Int64, bootID: String) -> Timestamp? {
            guard bootID == self.bootID, !bootID.isEmpty else { return nil }
            let passed = max(0, monotonic - self.monotonic)
            return Timestamp(milliseconds: signed.milliseconds + passed)
        }
    }

    /// The reckoned time, which is never before the anchor.
    ///
    /// - Parameters:
    ///   - deviceClock: what the device shows.
    ///   - monotonic: milliseconds since the device started.
    ///   - bootID: identifies the boot of the device.
    package func now(deviceClock: Timestamp, monotonic: Int64, bootID: String) -> Timestamp {
        guard let anchor else { return deviceClock }
        let counted = anchor.now(monotonic: monotonic, bootID: bootID)
        guard isProven else { return max(counted ?? anchor.signed, deviceClock) }
        return counted ?? max(anchor.signed, deviceClock)
    }

    /// Whether the time is counted from a signed time, independently of the device's clock.
    package func isCounted(monotonic: Int64, bootID: String) -> Bool {
        isProven && anchor?.now(monotonic: monotonic, bootID: bootID) != nil
    }

    /// Marks the anchor as proven.
    package mutating func confirm() { isProven = true }

    /// Records that the anchor cannot be proven. The anchor stays as a lower limit of the time, and
    /// no time is counted from it.
    package mutating func distrust() {
        // A signed response has replaced the anchor in the meantime.
        guard !isProven else { return }
        anchor?.bootID = ""
        isProven = true
    }

    /// Records a signed time.
    ///
    /// - Parameter isContact: whether the time was signed just now, such as the server's time in a
    ///   response. Such a time replaces the anchor, even if it is earlier. Any other signed time is
    ///   in the past, so it can only move the reckoned time forward.
    package mutating func anchor(
        signed: Timestamp, monotonic: Int64, bootID: String, isContact: Bool
    ) {
        let heard = Anchor(signed: signed, monotonic: monotonic, bootID: bootID)
        if isContact {
            anchor = heard
            isProven = true
        } else if let now = anchor?.now(monotonic: monotonic, bootID: bootID) {
            if signed > now { anchor = heard }
        } else if let old = anchor {
            anchor?.signed = max(old.signed, signed)
        } else {
            anchor = Anchor(signed: signed, monotonic: monotonic, bootID: "")
        }
    }

    /// Moves the anchor to the present if the device has not been restarted since the anchor was
    /// set. Idempotent. Call this function before the anchor is saved, so that the counted time
    /// survives a restart.
    package mutating func advance(monotonic: Int64, bootID: String) {
        guard let now = anchor?.now(monotonic: monotonic, bootID: bootID) else { return }
        anchor = Anchor(signed: now, monotonic: monotonic, bootID: bootID)
    }
}
