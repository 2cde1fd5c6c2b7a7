import Dashboard
import Foundation
import HTTPBasics
import NIOCore
import Synchronization

/// The phone's pages that are open in browsers. Each page gets the pieces that it does not show
/// yet.
final class PhonePages: Sendable {
    /// The maximum number of pages that are open at a time.
    static let countMax = 50

    private struct Content {
        var signals: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
        /// The pieces that were published last, by id.
        var pieces: [String: PhonePiece] = [:]
    }

    private let content = Mutex(Content())
    private let places = StreamPlaces(max: countMax)

    var isEmpty: Bool { places.openCount == 0 }

    /// Reserves one of the pages that may be open. Returns nil if too many are open.
    func reserve() -> StreamPlaces.Place? { try? places.reserve(for: "phone", max: Self.countMax) }

    /// A sequence with a signal after each change of a piece. The reader of the sequence must
    /// finish it.
    func signals() -> (
        stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation
    ) {
        let (stream, sink) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        content.withLock { content in
            content.lastNumber += 1
            let number = content.lastNumber
            content.signals[number] = sink
            sink.onTermination = { [weak self] _ in
                self?.content.withLock { _ = $0.signals.removeValue(forKey: number) }
            }
        }
        return (stream, sink)
    }

    /// Returns the pieces that differ from those that a page shows, and stores them in `shown`.
    ///
    /// - Parameter shown: the pieces that the page shows, by id.
    func changes(of shown: inout [String: PhonePiece]) -> [PhonePiece] {
        let pieces = content.withLock { $0.pieces }
        let changed = pieces.values.filter { shown[$0.id] != $0 }
        for piece in changed { shown[piece.id] = piece }
        return changed
    }

    /// Publishes the current pieces.
    func publish(_ pieces: [PhonePiece]) {
        content.withLock { content in
            let changed = pieces.filter { content.pieces[$0.id] != $0 }
            for piece in changed { content.pieces[piece.id] = piece }
            guard !changed.isEmpty else { return }
            for sink in content.signals.values { sink.yield() }
        }
    }
}

/// The pieces that a page does not show yet, as events.
struct PhonePageSource: LiveSource {
    let pages: PhonePages
    private var shown: [String: PhonePiece] = [:]

    init(pages: PhonePages) { self.pages = pages }

    mutating func output(after signal: Void) throws -> LiveOutput {
        try events().map { .events(ByteBuffer(string: $0)) } ?? .nothing
    }

    /// One event for each changed piece. Nil if none has changed.
    mutating func events() throws -> String? {
        let changed = pages.changes(of: &shown)
        guard !changed.isEmpty else { return nil }
        // JSON that is not indented contains no line break.
        return try changed.map {
            "data: \(String(decoding: try JSONEncoder().encode($0), as: UTF8.self))\n\n"
        }.joined()
    }
}
