import Foundation
import Testing

/// The alert rules in deploy/prometheus.
struct PrometheusRule: Sendable, Equatable {
    var alert: String
    var expression: String
    /// How long the expression must be true, such as `5m`.
    var duration: String
    var severity: String
    var summary: String
    /// The page and the heading that say more.
    var runbook: String

    /// The rules in the order of the file. Reads only the layout that this file has.
    static func all() throws -> [PrometheusRule] {
        let text = try Deployed.text("prometheus/perennial.rules.yaml")
        return try text.split(separator: "      - alert: ").dropFirst().map { part in
            let lines = part.split(separator: "\n").map {
                String($0.trimmingPrefix(while: \.isWhitespace))
            }
            func value(_ key: String) throws -> String {
                let line = try #require(lines.first { $0.hasPrefix("\(key): ") }, "\(key): \(part)")
                return String(line.dropFirst(key.count + 2))
            }
            func folded(_ key: String) throws -> String {
                let start = try #require(lines.firstIndex(of: "\(key): >-"), "\(key): \(part)")
                return lines[(start + 1)...].prefix { !$0.contains(/^\w+:/) }
                    .joined(separator: " ")
            }
            return PrometheusRule(
                alert: lines[0], expression: try folded("expr"), duration: try value("for"),
                severity: try value("severity"), summary: try folded("summary"),
                runbook: try value("runbook"))
        }
    }

    /// The numbers that the expression compares with.
    var thresholds: [String] {
        expression.matches(of: /(?:[<>]=?|==) (-?[\d.]+(?:e\d+)?)/).map { String($0.1) }
    }
}

/// The dashboard in deploy/grafana, in Grafana's classic form.
struct GrafanaDashboard: Decodable {
    var uid: String
    var title: String
    var schemaVersion: Int
    var panels: [Panel]
    var templating: Templating

    struct Panel: Decodable {
        var id: Int
        var type: String
        var title: String
        var gridPos: Place
        var datasource: Source?
        var targets: [Target]?
    }

    /// A place in a grid of 24 columns.
    struct Place: Decodable {
        var h: Int
        var w: Int
        var x: Int
        var y: Int

        func overlaps(_ other: Place) -> Bool {
            x < other.x + other.w && other.x < x + w && y < other.y + other.h && other.y < y + h
        }
    }

    struct Source: Decodable, Equatable {
        var type: String
        var uid: String
    }

    struct Target: Decodable {
        var refId: String
        var expr: String
        var legendFormat: String
        var datasource: Source
    }

    struct Templating: Decodable {
        var list: [Variable]
    }

    struct Variable: Decodable {
        var name: String
        var type: String
        var query: String
    }

    static func read() throws -> GrafanaDashboard {
        let text = try Deployed.text("grafana/perennial.json")
        return try JSONDecoder().decode(GrafanaDashboard.self, from: Data(text.utf8))
    }
}

/// The names in a query of Prometheus.
struct PrometheusQuery {
    /// The names of metrics, each with the labels that the query compares.
    var metrics: [(name: String, labels: [String])]
    /// The labels by which the query groups.
    var groupings: [String]

    init(_ text: String) {
        metrics = text.matches(of: /\b(perennial_\w+|up|ALERTS)\b(?:\{([^}]*)\})?/).map { match in
            let labels = match.2.map { $0.matches(of: /(\w+)\s*(?:=~|!~|!=|=)/) } ?? []
            return (String(match.1), labels.map { String($0.1) })
        }
        groupings = text.matches(of: /\bby \(([^)]*)\)/).flatMap { match in
            match.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }
}

/// Files in the folder `deploy`.
enum Deployed {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../deploy").standardized

    static func text(_ path: String) throws -> String {
        try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }
}
