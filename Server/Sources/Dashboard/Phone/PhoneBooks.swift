import PerennialContract

/// The customer's contribution to the charts: recurring revenue, revenue, and whether she counts as
/// a subscriber. The values are computed from the customer's events.
struct PhoneBooks: Hashable, Sendable {
    struct Point: Hashable, Sendable {
        var at: Timestamp
        /// The recurring revenue of a month, and the revenue so far, in thousandths of the
        /// currency's unit.
        var monthly: Int64
        var revenue: Int64
    }

    /// The points of the lines: one for each event that changed something, the oldest first.
    private(set) var points: [Point] = []
    let now: Timestamp
    let currency: String
    let remark: String

    var monthly: Int64 { points.last?.monthly ?? 0 }
    var revenue: Int64 { points.last?.revenue ?? 0 }

    init(_ state: PhoneState) {
        now = state.now
        currency = state.products.first?.currency ?? "USD"
        remark =
            switch state.access?.state {
            case .trial?: "a trial does not count"
            case .grace?: "at risk"
            case .retry?: "not while it is retried"
            default: ""
            }
        var (monthly, revenue): ([String: Int64], Int64) = ([:], 0)
        for event in state.events.sorted(by: { PhonePicture.order($0) < PhonePicture.order($1) }) {
            if let money = event.money, money.currency == currency {
                revenue += money.milliunits ?? 0
            }
            if let purchase = event.purchaseID, let after = event.after {
                monthly[purchase] =
                    Self.counts(after)
                    ? Self.monthly(
                        after: event, of: state.product(after.productID), monthly[purchase])
                    : 0
            }
            let sum = monthly.values.reduce(0, +)
            guard sum != self.monthly || revenue != self.revenue else { continue }
            points.append(Point(at: event.at, monthly: sum, revenue: revenue))
        }
    }

    /// A subscription's contribution to recurring revenue after an event.
    ///
    /// - Parameter before: the subscription's contribution before the event.
    private static func monthly(
        after event: Event, of product: PhoneProduct?, _ before: Int64?
    ) -> Int64 {
        guard let product else { return 0 }
        guard product.isSoldInSeats else { return product.monthlyMilliunits }
        // The price of a period is the sum of the prices of its seats. Added or refunded seats
        // change the price.
        guard let money = event.money?.milliunits else {
            return before ?? product.monthlyMilliunits
        }
        let part = product.monthly(of: money)
        return [.seatsAdded, .priceCorrected].contains(event.type) ? (before ?? 0) + part : part
    }

    private static func counts(_ condition: PurchaseCondition) -> Bool {
        switch condition.state {
        case .paid?, .offer?, .grace?, .unconfirmed?: true
        default: false
        }
    }

    // MARK: - Drawing

    var markup: Markup {
        """
        <div class="stats bare" id="books">\
        <div class="stat"><div class="k">MRR</div><div class="v">\(text(monthly))</div>\
        \(line(\.monthly))</div>\
        <div class="stat"><div class="k">Revenue</div><div class="v">\(text(revenue))</div>\
        \(line(\.revenue))</div>\
        <div class="stat"><div class="k">Active</div><div class="v">\(monthly > 0 ? 1 : 0)</div>\
        <div class="d">\(remark)</div></div></div>
        """
    }

    private func text(_ milliunits: Int64) -> String {
        Figures.money(Money(milliunits: milliunits, currency: currency))
    }

    private static let (width, floor, height): (Int64, Int64, Int64) = (1000, 260, 240)

    /// The line is drawn as steps, because nothing happens between two events. Heights are in
    /// tenths.
    private func line(_ value: KeyPath<Point, Int64>) -> Markup {
        guard let first = points.first else { return "" }
        let length = max(1, now.milliseconds - first.at.milliseconds)
        let most = max(1, points.map { $0[keyPath: value] }.max() ?? 1)
        func y(_ point: Point?) -> Markup {
            let height = (point?[keyPath: value] ?? 0) * Self.height / most
            let tenths = Self.floor - min(Self.height, max(0, height))
            return "\(Int(tenths / 10)).\(Int(tenths % 10))"
        }
        var (steps, last): ([Markup], Point?) = (["0,\(y(nil))"], nil)
        for point in points {
            let x = Int((point.at.milliseconds - first.at.milliseconds) * Self.width / length)
            steps += ["\(x),\(y(last))", "\(x),\(y(point))"]
            last = point
        }
        let path = (steps + ["1000,\(y(last))"]).joined(by: " ")
        return """
            <svg viewBox="0 0 1000 28" preserveAspectRatio="none" aria-hidden="true">\
            <polygon class="area" points="0,28 \(path) 1000,28"/>\
            <polyline class="ln" points="\(path)"/></svg>
            """
    }
}
