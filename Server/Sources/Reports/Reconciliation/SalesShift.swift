/// A figure that the App Store counts on other days than we do, and the reason, according to our
/// own documents. The shift explains a difference only if both sides differ by exactly this figure.
package struct SalesShift: Hashable, Sendable {
    package var cause: SalesDifference.Cause
    /// The figure that our side has on its day, but the App Store does not.
    package var removed: SalesFigure?
    /// The figures that the App Store has on their days, but our side does not.
    package var added: [SalesFigure]

    package init(
        _ cause: SalesDifference.Cause, removed: SalesFigure? = nil, added: [SalesFigure]
    ) {
        self.cause = cause
        self.removed = removed
        self.added = added
    }
}

extension SalesFigure {
    /// Whether the other figure exceeds this figure by at least the given part.
    func isExceeded(by other: SalesFigure, byAtLeast part: SalesFigure) -> Bool {
        [\SalesFigure.units, \.gross, \.refundedUnits, \.refunded].allSatisfy { number in
            part[keyPath: number] == 0
                || other[keyPath: number].subtractingSaturated(self[keyPath: number])
                    >= part[keyPath: number]
        }
    }

    mutating func subtract(_ other: SalesFigure) {
        units = units.subtractingSaturated(other.units)
        gross = gross.subtractingSaturated(other.gross)
        refundedUnits = refundedUnits.subtractingSaturated(other.refundedUnits)
        refunded = refunded.subtractingSaturated(other.refunded)
        if let own = proceeds, let less = other.proceeds {
            proceeds = own.subtractingSaturated(less)
        }
    }

    /// The numbers that are compared.
    var numbers: [(SalesDifference.Quantity, Int64)] {
        [
            (.units, units), (.gross, gross), (.refundedUnits, refundedUnits),
            (.refunded, refunded),
        ] + (proceeds.map { [(.proceeds, $0)] } ?? [])
    }
}
