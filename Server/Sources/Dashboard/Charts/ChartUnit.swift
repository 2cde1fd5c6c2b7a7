import PerennialContract

/// The unit of a chart's numbers. Each number is a whole number of the smallest step, so that
/// picture, table and sum show the same number.
package enum ChartUnit: Hashable, Sendable {
    /// An amount in thousandths of the currency's unit, as the App Store counts.
    case money(currency: String)
    case count
    /// A share in thousandths: 378 is 37.8 %.
    case share

    /// The number as text. Money is rounded to the currency's smallest unit.
    package func text(_ value: Int64) -> String {
        switch self {
        case .money(let currency):
            Figures.money(Money(milliunits: value, currency: currency))
        case .count: Figures.count(value)
        case .share: Figures.percent(thousandths: Int(value))
        }
    }

    /// The number with a sign: `+ $9.99`. Money is rounded to the currency's smallest unit.
    package func signedText(_ value: Int64) -> String {
        switch self {
        case .money(let currency):
            Figures.signedMoney(Money(milliunits: value, currency: currency))
        case .count: Figures.change(value)
        case .share: (value > 0 ? "+\u{A0}" : "") + Figures.percent(thousandths: Int(value))
        }
    }

    /// Amounts from this number of thousandths on are shown without cents.
    private static let roughFrom: UInt64 = 1_000_000

    /// The number as a tile shows it: large amounts have no cents.
    func roughText(_ value: Int64) -> String {
        switch self {
        case .money(let currency) where value.magnitude >= Self.roughFrom:
            Figures.roughMoney(Money(milliunits: value, currency: currency))
        case .money, .count, .share: text(value)
        }
    }

    /// The label of a tick on the axis: `$5k`. A tick's value is a round number of few digits.
    func tick(_ value: Int64, isSigned: Bool) -> String {
        let sign = value < 0 ? Figures.minus : isSigned && value > 0 ? "+" : ""
        let size = value.magnitude
        switch self {
        case .money(let currency):
            let one = Figures.roughMoney(Money(milliunits: 1000, currency: currency)).dropLast()
            return sign + one + Self.short(size, unit: 1000)
        case .count: return sign + Self.short(size, unit: 1)
        case .share: return sign + Self.short(size, unit: 10) + "\u{A0}%"
        }
    }

    private static func short(_ value: UInt64, unit: UInt64) -> String {
        switch value {
        case (1_000_000 * unit)...: decimal(value, of: 1_000_000 * unit) + "M"
        case (1_000 * unit)...: decimal(value, of: 1_000 * unit) + "k"
        default: decimal(value, of: unit)
        }
    }

    private static func decimal(_ value: UInt64, of unit: UInt64) -> String {
        let (whole, rest) = value.quotientAndRemainder(dividingBy: unit)
        let hundredths = rest * 100 / unit
        guard hundredths > 0 else { return Figures.grouped(String(whole)) }
        let (tenths, last) = hundredths.quotientAndRemainder(dividingBy: 10)
        return Figures.grouped(String(whole)) + ".\(tenths)" + (last > 0 ? String(last) : "")
    }
}

/// The axis of values: round steps from zero, and the position of a value.
struct ChartScale {
    let ticks: [Int64]
    let top: Double
    let height: Double

    /// - Parameters:
    ///   - top: the position of the highest tick, from above.
    ///   - height: the distance between the lowest and the highest tick.
    init(low: Int64, high: Int64, top: Double, height: Double) {
        let (low, high) = (min(low, 0), max(high, 0))
        let step = Self.step(for: max(high - low, 1))
        let first = low < 0 ? -((-low + step - 1) / step) : 0
        let last = max((high + step - 1) / step, first + 1)
        ticks = (first...last).map { $0 * step }
        self.top = top
        self.height = height
    }

    /// The smallest of 1, 2, 2.5 and 5 times a power of ten that needs five steps at most.
    private static func step(for span: Int64) -> Int64 {
        var power: Int64 = 1
        while power < span {
            for tenths: Int64 in [10, 20, 25, 50] where power * tenths % 10 == 0 {
                let step = power * tenths / 10
                if span <= step * 5 { return step }
            }
            guard power < Int64.max / 100 else { return power }
            power *= 10
        }
        return power
    }

    func y(_ value: Int64) -> Double {
        let (low, high) = (Double(ticks[0]), Double(ticks[ticks.count - 1]))
        return top + height * (high - Double(value)) / (high - low)
    }

    /// The axis: a separate SVG in a gutter of fixed width.
    func axis(unit: ChartUnit, chartHeight: Double, isSigned: Bool = false) -> Markup {
        let texts = ticks.map { tick -> Markup in
            """
            <text x="100%" y="\((y(tick) + 4).svg)" text-anchor="end">\
            \(unit.tick(tick, isSigned: isSigned))</text>
            """
        }
        return """
            <svg class="chart y" height="\(chartHeight.svg)" aria-hidden="true">\
            \(texts.joined())</svg>
            """
    }

    var lines: Markup {
        ticks.map { tick -> Markup in
            """
            <line class="grid\(tick == 0 ? " zero" : "")" x1="0" x2="100%" y1="\(y(tick).svg)" \
            y2="\(y(tick).svg)"/>
            """
        }.joined()
    }
}

extension Double {
    /// The number as SVG reads it, with at most two decimals. Zero if the value is not a number.
    var svg: Markup {
        guard isFinite else { return "0" }
        let hundredths = Int64((Swift.max(-1e12, Swift.min(1e12, self)) * 100).rounded())
        let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        var text = (hundredths < 0 ? "-" : "") + String(whole)
        if rest > 0 {
            text += rest % 10 == 0 ? ".\(rest / 10)" : rest < 10 ? ".0\(rest)" : ".\(rest)"
        }
        return Markup(text: text)
    }
}

/// The columns that stand side by side along the time axis of a chart.
struct ChartColumns {
    var count: Int

    /// The middle of a column, in per cent of the width.
    func middle(_ index: Int) -> Double { (Double(index) + 0.5) / Double(count) * 100 }
    func left(_ index: Int) -> Double { Double(index) / Double(count) * 100 }
    var width: Double { 100 / Double(count) }

    /// The label under a column. On a phone only every third label is shown; if there are many
    /// columns, some of them have no label at all.
    func label(_ index: Int, _ text: String, y: Double) -> Markup {
        let every = Swift.max(1, (count + 15) / 16)
        guard index % every == 0 else { return "" }
        return """
            <text\(index / every % 3 == 0 ? "" : " class=\"alt\"") x="\(middle(index).svg)%" \
            y="\(y.svg)" text-anchor="middle">\(text)</text>
            """
    }

    /// The value that is shown while the pointer is over a column.
    func tip(_ index: Int, _ text: String, y: Double) -> Markup {
        let isFirst = index < 3
        let isLast = !isFirst && index >= count - 3
        let x = isFirst ? left(index) : isLast ? left(index) + width : middle(index)
        let anchor: Markup = isFirst ? "start" : isLast ? "end" : "middle"
        return """
            <text class="tip" x="\(x.svg)%" y="\(y.svg)" text-anchor="\(anchor)">\(text)</text>
            """
    }

    /// The drawing of a column, as a link if there is a page for it. The table has the same link
    /// for the keyboard.
    func column(_ index: Int, link: Markup?, height: Double, content: Markup) -> Markup {
        let hit: Markup = """
            <rect class="hit" x="\(left(index).svg)%" width="\(width.svg)%" y="14" \
            height="\((height - 38).svg)"/>
            """
        guard let link else { return "<g class=\"col\">\(hit)\(content)</g>" }
        return "<a class=\"col\" href=\"\(link)\" tabindex=\"-1\">\(hit)\(content)</a>"
    }
}
