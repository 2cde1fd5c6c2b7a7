extension BinaryInteger {
    /// The number with its noun: `1 row`, `2 rows`.
    ///
    /// - Parameter plural: the plural of the noun; nil if it is the noun with an s.
    package func counted(_ noun: String, _ plural: String? = nil) -> String {
        "\(self) \(self == 1 ? noun : plural ?? noun + "s")"
    }
}
