import Ledger
import Testing

@testable import Storage

/// Only a commit wakes the waiters for a customer.
@Suite(.timeLimit(.minutes(5))) struct ChangeSignalTests {
    private func entry(about id: CustomerID, in app: AppID = "birds") -> EventEntry {
        EventEntry(
            app: app, customer: id, purchase: nil,
            change: Change(.aliasAdded, at: Instant(milliseconds: 0)),
            knownAt: Instant(milliseconds: 0), cause: .request, other: "Other")
    }

    @Test func `a commit wakes only tasks that wait for a customer of the committed events`() async
    {
        let signals = ChangeSignals()
        let lane = signals.addLane()
        let anna = signals.signals(about: ["anna", "phone"], in: "birds")
        let other = signals.signals(about: ["other"], in: "birds")
        let ben = signals.signals(about: ["ben"], in: "birds")
        let cats = signals.signals(about: ["anna"], in: "cats")
        signals.collect([entry(about: "anna")], in: lane)
        signals.signal(lane)
        let all = [anna, other, ben, cats]
        for (_, continuation) in all { continuation.finish() }
        var counts: [Int] = []
        for (stream, _) in all {
            var count = 0
            for await _ in stream { count += 1 }
            counts.append(count)
        }
        #expect(counts == [1, 1, 0, 0])
        #expect(signals.topicCount == 0)
    }

    @Test func `every event of an app wakes the tasks that wait for the app's log`() async {
        let signals = ChangeSignals()
        let lane = signals.addLane()
        let (birds, cats) = (signals.signals(ofLogOf: "birds"), signals.signals(ofLogOf: "cats"))
        signals.collect([entry(about: "anna")], in: lane)
        signals.signal(lane)
        var counts: [Int] = []
        for (stream, continuation) in [birds, cats] {
            continuation.finish()
            var count = 0
            for await _ in stream { count += 1 }
            counts.append(count)
        }
        #expect(counts == [1, 0])
        #expect(signals.topicCount == 0)
    }

    @Test func `tasks that wait for an event are woken only after its commit`() async {
        let signals = ChangeSignals()
        let lane = signals.addLane()
        let (stream, continuation) = signals.signals(about: ["anna"], in: "birds")
        signals.collect([entry(about: "anna")], in: lane)
        continuation.finish()
        for await _ in stream { Issue.record("It was woken before the commit.") }
    }

    /// Documents and other changes are committed at the same time, in two lanes.
    @Test func `a commit of one kind of change does not signal uncommitted events of another kind`()
        async
    {
        let signals = ChangeSignals()
        let (documents, others) = (signals.addLane(), signals.addLane())
        let (stream, continuation) = signals.signals(about: ["anna"], in: "birds")
        signals.collect([entry(about: "anna")], in: documents)
        signals.signal(others)
        signals.signal(documents)
        signals.signal(documents)
        continuation.finish()
        var count = 0
        for await _ in stream { count += 1 }
        #expect(count == 1)
    }

    @Test func `the events of a failed transaction wake nobody`() async {
        let signals = ChangeSignals()
        let lane = signals.addLane()
        let (stream, continuation) = signals.signals(about: ["anna"], in: "birds")
        signals.collect([entry(about: "anna")], in: lane)
        signals.discard(lane)
        signals.signal(lane)
        continuation.finish()
        for await _ in stream { Issue.record("It was woken without a commit.") }
    }
}
