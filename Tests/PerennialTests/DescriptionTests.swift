import Perennial
import Testing

@Suite struct DescriptionTests {
    @Test func `the description of a value is its raw value`() {
        #expect("\(Perennial.Purchase.Outcome.planChangeScheduled)" == "plan_change_scheduled")
        #expect("\(Perennial.EntitlementID(rawValue: "pro"))" == "pro")
        #expect("\(Perennial.AccessState(rawValue: "of 2030"))" == "of 2030")
        #expect("\(Perennial.LogHandler.Level.notice)" == "notice")
        #expect("\(Perennial.LogHandler.Level(rawValue: 7))" == "level 7")
    }
}
