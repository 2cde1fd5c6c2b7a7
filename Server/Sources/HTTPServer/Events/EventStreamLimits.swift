import Engine
import HTTPBasics
import Hummingbird
import Storage

/// The limits of event streams.
package struct EventStreamLimits: Hashable, Sendable {
    /// The maximum number of streams that are open at one time on this server.
    package var streamsMax = 100
    /// The maximum number of streams with one key.
    package var streamsOfKeyMax = 50
    /// The maximum number of streams of pages for one operator.
    package var streamsOfOperatorMax = 20
    /// How long a stream without events sends nothing, before it sends a comment. Many proxies cut
    /// a connection that is silent for a minute.
    package var commentPause = Duration.seconds(15)
    /// How often the key of a stream is looked up again, with or without events.
    package var keyPause = Duration.seconds(15)
    /// A reader that does not accept a page of events, or a comment, for this long is disconnected.
    package var writeMax = Duration.seconds(30)
    /// How long a stream lasts. The client then connects again and continues.
    package var lifeMax = Duration.hours(1)
    /// How long a page's stream lasts. The page is then loaded again, which counts as a use of the
    /// session. So this time is longer than a session usually lasts without use.
    package var pageLifeMax = Duration.days(7)
    /// The maximum number of events that one step reads from the database and then writes.
    package var pageMax = 100

    package init() {}
}

extension EventStreamLimits {
    /// The limits of one stream.
    ///
    /// - Parameter lifeMax: how long the stream lasts.
    func live(for lifeMax: Duration) -> LiveStreamLimits {
        LiveStreamLimits(commentPause: commentPause, writeMax: writeMax, lifeMax: lifeMax)
    }
}

extension StreamPlaces {
    /// Reserves one of the streams: see ``reserve(for:max:)``.
    ///
    /// - Throws: ``ProblemError`` if too many streams are open, in total or for the reader.
    func place(for reader: String, max ownMax: Int) throws(ProblemError) -> Place {
        do { return try reserve(for: reader, max: ownMax) } catch {
            throw ProblemError(.tooManyStreams(max: error.max))
        }
    }

    /// Reserves one of the streams for a key.
    ///
    /// - Throws: ``ProblemError`` if too many streams are open, in total or with the key.
    func place(
        for key: StoredKey, max ownMax: Int, _ refusals: LimitRefusals
    ) throws(ProblemError) -> Place {
        do { return try reserve(for: "key \(Hexadecimal.text(key.hash))", max: ownMax) } catch {
            guard error.isOfReader else { throw ProblemError(.tooManyStreams(max: error.max)) }
            refusals.record(.streamsOfKey, max: ownMax, of: key.limitedName)
            throw ProblemError(.streamsOfKey, max: ownMax)
        }
    }
}

extension ServerContext {
    /// The connection of the request, for a live stream.
    package var liveConnection: LiveConnection {
        LiveConnection(channel) { [channel] body in channel.onDeparture(body) }
    }
}
