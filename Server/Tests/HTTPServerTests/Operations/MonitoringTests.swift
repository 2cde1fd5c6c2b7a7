import Eventually
import Foundation
import PerennialContract
import Testing

@testable import HTTPServer

/// What docs/monitoring.md says about the alert rules and the dashboard.
@Suite struct MonitoringTests {
    /// Labels that Prometheus adds, and the label of a histogram's buckets.
    private static let labelsOfAll: Set = ["job", "instance", "alertname", "alertstate", "le"]

    @Test(.enabled(if: Promtool.path != nil, Promtool.absence))
    func `Prometheus accepts the rules and the example, and each alert fires as its test says`()
        async throws
    {
        for arguments in [
            ["check", "rules", "perennial.rules.yaml"], ["check", "config", "prometheus.yaml"],
            ["test", "rules", "perennial.test.yaml"],
        ] {
            let (status, text) = try await Promtool.run(arguments)
            #expect(status == 0, "\(arguments): \(text)")
        }
    }

    @Test func `each alert has a test in which it fires, and one in which it does not fire`() throws
    {
        let tests = try Deployed.text("prometheus/perennial.test.yaml")
            .components(separatedBy: "  - name: ").dropFirst()
        for rule in try PrometheusRule.all() {
            let ofRule = tests.filter { $0.contains(#"alertname="\#(rule.alert)""#) }
            #expect(!ofRule.isEmpty, "\(rule.alert)")
            #expect(ofRule.allSatisfy { $0.contains("exp_samples: []") }, "\(rule.alert)")
        }
    }

    @Test func `docs/monitoring.md lists each alert with its time and its thresholds`() throws {
        let head = "| alert | fires if | for | do this |"
        let page = try Page.text("monitoring.md")
        var rules = try PrometheusRule.all()
        for part in page.components(separatedBy: "\n### ").dropFirst() {
            let heading = String(part.prefix { $0 != "\n" })
            for cells in try Page.table(head, in: part) {
                let name = try #require(Page.words(in: cells[0]).first)
                let place = try #require(rules.firstIndex { $0.alert == name }, "\(name)")
                let rule = rules.remove(at: place)
                let numbers = Page.words(in: cells[1]).filter { Double($0) != nil }
                #expect(Set(numbers) == Set(rule.thresholds), "\(name)")
                #expect(Page.words(in: cells[2]) == [rule.duration], "\(name)")
                let anchor = heading.lowercased().replacing(" ", with: "-")
                #expect(rule.runbook == "docs/monitoring.md#\(anchor)", "\(name)")
            }
        }
        #expect(rules.map(\.alert) == [])
    }

    @Test func `each alert says in a short sentence what to do`() throws {
        let rules = try PrometheusRule.all()
        #expect(!rules.isEmpty && Set(rules.map(\.alert)).count == rules.count)
        for rule in rules {
            #expect(["critical", "warning"].contains(rule.severity), "\(rule.alert)")
            #expect(rule.summary.hasSuffix(".") && rule.summary.count <= 160, "\(rule.alert)")
            #expect(rule.summary.contains(". ") || rule.summary.contains(": "), "\(rule.alert)")
        }
    }

    @Test func `the rules and the dashboard use only metrics and labels that a server exports`()
        async throws
    {
        let rules = try PrometheusRule.all().map { (place: $0.alert, query: $0.expression) }
        let panels = try GrafanaDashboard.read().panels.flatMap { panel in
            (panel.targets ?? []).map { (place: panel.title, query: $0.expr) }
        }
        #expect(!rules.isEmpty && !panels.isEmpty)
        try await TestServer.run { server in
            let exported = try await server.send(.get, Paths.metrics, key: nil).text
            for (place, query) in rules + panels {
                let names = PrometheusQuery(query)
                #expect(!names.metrics.isEmpty, "\(place)")
                var labels = Self.labelsOfAll
                for (name, compared) in names.metrics where !["up", "ALERTS"].contains(name) {
                    let metric = try #require(
                        Metrics.all.first {
                            $0.name == name || $0.kind == .histogram && name == "\($0.name)_bucket"
                        }, "\(place): \(name)")
                    #expect(exported.contains("# TYPE \(metric.name) \(metric.kind)\n"), "\(name)")
                    let known = Set(metric.labels).union(Self.labelsOfAll)
                    #expect(known.isSuperset(of: compared), "\(place)")
                    labels.formUnion(metric.labels)
                }
                #expect(labels.isSuperset(of: names.groupings), "\(place)")
            }
        }
    }

    @Test func `the Grafana dashboard has the classic JSON form, and its panels do not overlap`()
        throws
    {
        let dashboard = try GrafanaDashboard.read()
        #expect((8...40).contains(dashboard.uid.count) && dashboard.schemaVersion == 39)
        #expect(dashboard.templating.list.map(\.type) == ["datasource"])
        let source = GrafanaDashboard.Source(type: "prometheus", uid: "${datasource}")
        #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
        #expect(dashboard.panels.first?.type == "row")
        for (index, panel) in dashboard.panels.enumerated() {
            #expect(["row", "stat", "timeseries"].contains(panel.type), "\(panel.title)")
            #expect(panel.gridPos.x + panel.gridPos.w <= 24, "\(panel.title)")
            let later = dashboard.panels[(index + 1)...]
            #expect(!later.contains { $0.gridPos.overlaps(panel.gridPos) }, "\(panel.title)")
            guard panel.type != "row" else { continue }
            let targets = try #require(panel.targets, "\(panel.title)")
            #expect(!targets.isEmpty && Set(targets.map(\.refId)).count == targets.count)
            #expect(targets.allSatisfy { $0.datasource == source } && panel.datasource == source)
        }
    }
}
