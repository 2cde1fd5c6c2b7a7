import Dashboard
import Synchronization

/// The phone's pages that are open in browsers. Each page gets the pieces that have changed.
final class PhonePages: Sendable {
    /// The maximum number of pages that are open at a time.
    static let countMax = 50

    private struct Content {
        var pages: [Int: AsyncStream<[PhonePiece]>.Continuation] = [:]
        var lastNumber = 0
        /// The pieces that were published last, by id.
        var pieces: [String: PhonePiece] = [:]
    }

    private let content = Mutex(Content())

    var isEmpty: Bool { content.withLock { $0.pages.isEmpty } }
    var isFull: Bool { content.withLock { $0.pages.count >= Self.countMax } }

    /// Opens a page, which first gets all pieces. The caller must call ``close(_:)`` afterwards.
    /// Returns nil if too many pages are open.
    func open() -> (number: Int, pieces: AsyncStream<[PhonePiece]>)? {
        content.withLock { content in
            guard content.pages.count < Self.countMax else { return nil }
            let (stream, sink) = AsyncStream.makeStream(of: [PhonePiece].self)
            content.lastNumber += 1
            content.pages[content.lastNumber] = sink
            if !content.pieces.isEmpty { sink.yield(Array(content.pieces.values)) }
            return (content.lastNumber, stream)
        }
    }

    /// Sends an empty message to an open page, to keep the connection alive.
    func touch(_ number: Int) { content.withLock { _ = $0.pages[number]?.yield([]) } }

    func close(_ number: Int) {
        content.withLock { $0.pages.removeValue(forKey: number) }?.finish()
    }

    /// Sends the pieces that differ from those that were sent last.
    func publish(_ pieces: [PhonePiece]) {
        content.withLock { content in
            let changed = pieces.filter { content.pieces[$0.id] != $0 }
            for piece in changed { content.pieces[piece.id] = piece }
            guard !changed.isEmpty else { return }
            for page in content.pages.values { page.yield(changed) }
        }
    }
}
