import Ledger

/// What the program reads from its surroundings for metrics.
package struct ProcessReadings: Hashable, Sendable {
    /// When the certificate in force ends; nil without TLS.
    package var certificateEnd: Instant?
    /// The disk with the database's file; nil for PostgreSQL.
    package var disk: DiskSpace?
    /// The number of spans that could not be sent; nil if no traces are sent.
    package var spansDropped: Int?

    package init(
        certificateEnd: Instant? = nil, disk: DiskSpace? = nil, spansDropped: Int? = nil
    ) {
        (self.certificateEnd, self.disk) = (certificateEnd, disk)
        self.spansDropped = spansDropped
    }
}

/// The size of a file system and its free part, in bytes.
package struct DiskSpace: Hashable, Sendable {
    package var bytes: Int64
    /// The bytes that this process may still write.
    package var freeBytes: Int64

    package init(bytes: Int64, freeBytes: Int64) {
        (self.bytes, self.freeBytes) = (bytes, freeBytes)
    }
}
