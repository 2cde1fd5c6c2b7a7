@testable import Simulator

// Undocumented behaviour of the App Store about several seats.

extension Course {
    /// Each kind of undocumented behaviour about seats, in a course that shows it.
    static let ofSeatHabits = [
        seats(.seatAdditionSharesLineItem, order(2), .waits("P3D"), order(5)),
        seats(.seatAdditionProrated, order(2), .waits("P3D"), order(5)),
        seats(.seatRefundToldOnce, order(2), order(4), .waits("P3D"), .does(.refundSeats(3))),
        seats(.seatRefundNamesPercentage, order(4), .waits("P3D"), .does(.refundSeats(1))),
        seats(.unclaimSeatsLost, order(3), .waits("P3D"), .does(.refundSeats(1))),
        seats(.purchaserUsesASeat, order(3), .does(.changeSeats(2)), .waits("P1M")),
        // Only the purchaser's renewal state is known, so the course switches renewal off.
        seats(
            .membersHaveNoRenewalInfo, .household, order(3), .does(.cancel),
            .does(.joinGroup("ben")), .waits("P9D"), .does(.leaveGroup("ben"))),
    ]

    private static func order(_ seats: Int64) -> Step {
        .orders(PurchaseOrder("tiers.silver", offerID: PurchaseOrder.noOffer, seats: seats))
    }

    private static func seats(_ habit: Quirk, _ steps: Step...) -> Course {
        Course(
            name: habit.rawValue,
            set: {
                $0.quirks = [habit]
                // Only an app that invites the members itself claims seats.
                if [.unclaimSeatsLost, .purchaserUsesASeat].contains(habit) {
                    $0.rules.seatInvitations = .developer
                }
                let tiers = SeatPrices.Tiers(everywhere: [.init(from: 3, price: 7_990)])
                $0.rules.seats.set(tiers, of: "tiers.silver")
            }, steps: steps)
    }
}
