import Testing

/// The acts of one customer's life. After each act, the server's answer is compared with the
/// simulator's books.
struct Life: CustomTestStringConvertible, Sendable {
    var name: String
    var acts: [Act]
    var testDescription: String { name }

    init(_ name: String, _ acts: [Act]) {
        self.name = name
        self.acts = acts
    }

    enum Act: Sendable {
        /// The account buys on its first device, and the app posts the purchase.
        case buy(String)
        /// The account buys on its first device, but the app never posts. The server learns of the
        /// purchase by notification.
        case buyUnheard(String)
        /// The app posts all documents of the device.
        case restore
        /// Time passes. The value is an ISO 8601 duration.
        case pass(String)
        /// A verb of the simulator is used on the account's subscription.
        case change(String)
        case changeProduct(String)
        /// A verb is used on the transaction with this number. The first transaction is 0.
        case onTransaction(Int, String)
    }
}

extension Life {
    /// Lets time pass to just before and just after the end of the first month, which is bought at
    /// the beginning of the story.
    private static let toTheLastMinute: [Act] = [.pass("P27D"), .pass("P2DT23H59M")]

    static let all: [Life] = [
        Life(
            "a month, renewed again and again",
            [.buy("pro.monthly")] + Array(repeating: .pass("P17D"), count: 14)),
        Life(
            "a trial becomes a year",
            [
                .buy("pro.yearly"), .pass("P3D"), .pass("P3DT23H59M"), .pass("PT2M"),
                .pass("P200D"),
                .pass("P200D"),
            ]),
        Life(
            "a trial cancelled at once runs to its end",
            [.buy("pro.yearly"), .change("cancel"), .pass("P6D"), .pass("P2D"), .pass("P30D")]),
        Life(
            "cancelled, and ended",
            [.buy("pro.monthly"), .pass("P5D"), .change("cancel")] + toTheLastMinute
                + [.pass("P2D"), .pass("P40D")]),
        Life(
            "cancelled, and renewed again before the end",
            [
                .buy("pro.monthly"), .pass("P5D"), .change("cancel"), .pass("P5D"),
                .change("resume"),
                .pass("P30D"), .pass("P30D"),
            ]),
        Life(
            "refunded within the period",
            [.buy("pro.monthly"), .pass("P9D"), .change("refund"), .pass("P1D"), .pass("P60D")]),
        Life(
            "refunded on a renewed period",
            [.buy("pro.monthly"), .pass("P40D"), .change("refund"), .pass("P1D"), .pass("P60D")]),
        Life(
            "a past period refunded, the present one not",
            [
                .buy("pro.monthly"), .pass("P40D"), .onTransaction(0, "refund"), .pass("P1D"),
                .pass("P40D"),
            ]),
        Life(
            "a refund reversed within the period",
            [
                .buy("pro.monthly"), .pass("P5D"), .change("refund"), .pass("P5D"),
                .change("reverse-refund"), .pass("P10D"), .pass("P30D"),
            ]),
        Life(
            "a refund reversed after the period",
            [
                .buy("pro.monthly"), .pass("P5D"), .change("refund"), .pass("P50D"),
                .change("reverse-refund"), .pass("P5D"),
            ]),
        Life(
            "billing fails, recovered within grace",
            [
                .buy("pro.monthly"), .change("fail-billing"), .pass("P32D"), .pass("P4D"),
                .change("recover-billing"), .pass("P10D"), .pass("P30D"),
            ]),
        Life(
            "billing fails, recovered after grace",
            [
                .buy("pro.monthly"), .change("fail-billing"), .pass("P32D"), .pass("P20D"),
                .change("recover-billing"), .pass("P10D"), .pass("P30D"),
            ]),
        Life(
            "billing fails for good",
            [
                .buy("pro.monthly"), .change("fail-billing"), .pass("P32D"), .pass("P20D"),
                .pass("P30D"), .pass("P30D"), .pass("P30D"),
            ]),
        Life(
            "cancelled during grace, and closed at once",
            [
                .buy("pro.monthly"), .change("fail-billing"), .pass("P33D"), .change("cancel"),
                .pass("P1D"), .pass("P60D"),
            ]),
        Life(
            "upgraded in the middle",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("premium.monthly"), .pass("P1D"),
                .pass("P40D"),
            ]),
        Life(
            "upgraded, then refunded",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("premium.monthly"), .pass("P1D"),
                .change("refund"), .pass("P40D"),
            ]),
        Life(
            "downgraded at the end of the period",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("plus.monthly"), .pass("P9D"),
                .pass("P20D"), .pass("P30D"),
            ]),
        Life(
            "a downgrade that is undone",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("plus.monthly"), .pass("P2D"),
                .changeProduct("pro.monthly"), .pass("P40D"),
            ]),
        Life(
            "a month becomes a year at the end of the period",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("pro.yearly"), .pass("P30D"),
                .pass("P400D"),
            ]),
        Life(
            "lapsed, and bought again",
            [
                .buy("pro.monthly"), .change("cancel"), .pass("P90D"), .buy("pro.monthly"),
                .pass("P10D"),
                .pass("P40D"),
            ]),
        Life(
            "lapsed, and another product bought",
            [
                .buy("pro.monthly"), .change("cancel"), .pass("P90D"), .buy("premium.monthly"),
                .pass("P10D"), .pass("P40D"),
            ]),
        Life(
            "first known by notification, and claimed by a device later",
            [.buyUnheard("pro.monthly"), .pass("P40D"), .restore, .pass("P10D"), .pass("P40D")]),
        Life(
            "ended by the store",
            [.buy("pro.monthly"), .pass("P9D"), .change("expire"), .pass("P1D")]),
        Life(
            "renewed manually, ahead of time",
            [.buy("pro.monthly"), .pass("P9D"), .change("renew-now"), .pass("P1D"), .pass("P40D")]),
        Life(
            "a month becomes a year, paid ahead",
            [
                .buy("pro.monthly"), .pass("P9D"), .changeProduct("pro.yearly"),
                .change("renew-now"), .pass("P10D"), .pass("P30D"), .pass("P400D"),
            ]),
        Life(
            "a year becomes a month, paid ahead",
            [
                .buy("pro.yearly"), .pass("P2D"), .changeProduct("pro.monthly"),
                .change("renew-now"), .pass("P3D"), .pass("P10D"), .pass("P40D"),
            ]),
        Life(
            "a change to another right, paid ahead, and refunded",
            [
                .buy("premium.monthly"), .pass("P9D"), .changeProduct("plus.monthly"),
                .change("renew-now"), .pass("P1D"), .change("refund"), .pass("P40D"),
            ]),
        Life(
            "everything at once",
            [
                .buy("pro.monthly"), .change("cancel"), .change("resume"),
                .changeProduct("premium.monthly"),
                .changeProduct("plus.monthly"), .change("refund"), .change("reverse-refund"),
                .pass("P40D"),
            ]),
    ]
}
