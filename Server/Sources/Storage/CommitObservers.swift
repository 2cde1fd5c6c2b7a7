/// Notifies observers of a database's commits.
final class CommitObservers: Sendable {
    let health = WriteHealth()
    /// Yields after commits that may have appended events without numbers. One element can stand
    /// for many commits.
    let unnumbered: AsyncStream<Void>
    private let unnumberedSignal: AsyncStream<Void>.Continuation
    let signals: ChangeSignals
    private let dialect: Dialect

    init(_ dialect: Dialect, _ signals: ChangeSignals) {
        (self.dialect, self.signals) = (dialect, signals)
        (unnumbered, unnumberedSignal) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter lane: the lane (``ChangeSignals/Lane``) of the transaction.
    func recordCommit(in lane: ChangeSignals.Lane) {
        if dialect == .postgres { unnumberedSignal.yield() }
        signals.signal(lane)
    }
}
