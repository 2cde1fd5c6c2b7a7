/// The claim that an event `seat_claimed` or `seat_released` is about.
public struct SeatChange: Hashable, Sendable, Codable {
    public var claimID: String
    /// Why the claim ended. Nil if it began.
    public var cause: SeatEnd?

    public init(claimID: String, cause: SeatEnd? = nil) {
        self.claimID = claimID
        self.cause = cause
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case claimID = "claim_id"
        case cause
    }
}

extension SeatChange: AbsentIfNil {}
