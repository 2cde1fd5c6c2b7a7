/// One metric: its name, help and kind, its labels, and the source of its values. All counters
/// start at zero when the process starts.
struct Metric: Sendable {
    enum Kind: String { case counter, gauge, histogram }

    /// A value for each combination of the labels' values.
    typealias Samples = [(labels: [String], value: Int)]
    typealias Histograms = [(labels: [String], histogram: Histogram)]

    let name: String
    let help: String
    let kind: Kind
    /// The names of the labels.
    let labels: [String]
    let samples: @Sendable (Metrics) -> Samples
    /// The samples of a metric of the kind `histogram`; empty for the others.
    private let histograms: @Sendable (Metrics) -> Histograms

    init(
        _ name: String, _ help: String, _ kind: Kind = .counter, by labels: [String],
        samples: @escaping @Sendable (Metrics) -> Samples
    ) {
        (self.name, self.help, self.kind, self.labels) = (name, help, kind, labels)
        self.samples = samples
        histograms = { _ in [] }
    }

    /// A metric without labels. It has no sample while its value is nil.
    init(
        _ name: String, _ help: String, _ kind: Kind = .counter,
        value: @escaping @Sendable (Metrics) -> Int?
    ) {
        self.init(name, help, kind, by: []) { metrics in
            value(metrics).map { [(labels: [], value: $0)] } ?? []
        }
    }

    init(
        histogram name: String, _ help: String, by labels: [String],
        histograms: @escaping @Sendable (Metrics) -> Histograms
    ) {
        (self.name, self.help, kind, self.labels) = (name, help, .histogram, labels)
        samples = { _ in [] }
        self.histograms = histograms
    }

    func lines(from metrics: Metrics) -> [String] {
        ["# HELP \(name) \(help)", "# TYPE \(name) \(kind)"]
            + samples(metrics).map { "\(name)\(Self.text(pairs($0.labels))) \($0.value)" }
            + histograms(metrics).flatMap(lines)
    }

    private func lines(of labels: [String], _ histogram: Histogram) -> [String] {
        let pairs = pairs(labels)
        return histogram.buckets.map { bucket in
            "\(name)_bucket\(Self.text(pairs + ["le=\"\(bucket.bound)\""])) \(bucket.count)"
        } + [
            "\(name)_sum\(Self.text(pairs)) \(histogram.sumSeconds)",
            "\(name)_count\(Self.text(pairs)) \(histogram.count)",
        ]
    }

    private func pairs(_ values: [String]) -> [String] {
        zip(labels, values).map { "\($0)=\"\(Self.escaped($1))\"" }
    }

    private static func text(_ pairs: [String]) -> String {
        pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    /// The value of a label as Prometheus's text format writes it.
    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { [0x22, 0x5C, 0x0A].contains($0) }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }
}
