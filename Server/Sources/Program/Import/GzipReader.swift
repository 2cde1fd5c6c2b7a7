import CZlib

/// Decompresses gzip (RFC 1952) piece by piece. Like other programs, treats several consecutive
/// members as one text. Never has more than two chunks in memory.
///
/// A small file can contain a huge text. So there is a limit for the size of the text, and one for
/// its ratio to the size of the file.
final class GzipReader {
    /// The maximum size of the decompressed text, in bytes.
    static let textBytesMax: Int64 = 274_877_906_944
    /// How many times larger than the file the text may be. Exports have ratios of 5 to 50.
    static let ratioMax: Int64 = 400
    /// Up to this size of the text, in bytes, the ratio is not limited.
    static let ratioFreeBytes: Int64 = 67_108_864
    private static let chunkBytes = 65_536

    /// Why compressed bytes cannot be read.
    enum Defect: Error, Hashable {
        /// The file ends within the text.
        case truncated
        /// The bytes are damaged, or something else follows the text.
        case damaged
        case tooLarge(bytesMax: Int64)
        case ratioTooHigh(ratioMax: Int64)
    }

    /// The state of zlib, which must not move while it is in use.
    private let stream: UnsafeMutablePointer<z_stream>
    private let limits: (textBytes: Int64, ratio: Int64, ratioFreeBytes: Int64)
    private var input: [UInt8] = []
    private var position = 0
    private var isBetweenMembers = false
    private var bytesRead: Int64 = 0
    private var textBytes: Int64 = 0

    init(
        textBytesMax: Int64 = textBytesMax, ratioMax: Int64 = ratioMax,
        ratioFreeBytes: Int64 = ratioFreeBytes
    ) throws(Defect) {
        limits = (textBytesMax, ratioMax, ratioFreeBytes)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard perennial_inflate_init(stream) == Z_OK else {
            stream.deallocate()
            throw .damaged
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    static func isCompressed(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    /// The next part of the text. Empty at its end.
    ///
    /// - Parameter more: returns the next bytes of the file; empty at its end.
    /// - Throws: ``Defect``, or an error of `more`.
    func next(from more: () throws -> [UInt8]) throws -> [UInt8] {
        while true {
            if position == input.count {
                (input, position) = (try more(), 0)
                bytesRead += Int64(input.count)
                if input.isEmpty {
                    guard isBetweenMembers else { throw Defect.truncated }
                    return []
                }
            }
            guard try beginMember() else { continue }
            let part = try inflatePart()
            if !part.isEmpty { return part }
        }
    }

    /// Begins the next member after the end of the previous one. Returns false if more bytes are
    /// needed. Zeros between members, or after the last one, are padding.
    private func beginMember() throws(Defect) -> Bool {
        guard isBetweenMembers else { return true }
        position = input[position...].firstIndex { $0 != 0 } ?? input.count
        guard position < input.count else { return false }
        guard input[position] == 0x1F, inflateReset(stream) == Z_OK else { throw .damaged }
        isBetweenMembers = false
        return true
    }

    private func inflatePart() throws(Defect) -> [UInt8] {
        var part = [UInt8](repeating: 0, count: Self.chunkBytes)
        let (status, unread, free) = input.withUnsafeMutableBufferPointer { input in
            part.withUnsafeMutableBufferPointer { part in
                stream.pointee.next_in = input.baseAddress.map { $0 + position }
                stream.pointee.avail_in = uInt(input.count - position)
                stream.pointee.next_out = part.baseAddress
                stream.pointee.avail_out = uInt(part.count)
                let status = inflate(stream, Z_NO_FLUSH)
                return (status, Int(stream.pointee.avail_in), Int(stream.pointee.avail_out))
            }
        }
        position = input.count - unread
        switch status {
        case Z_STREAM_END: isBetweenMembers = true
        case Z_OK, Z_BUF_ERROR: break
        default: throw .damaged
        }
        part.removeLast(free)
        textBytes += Int64(part.count)
        guard textBytes <= limits.textBytes else {
            throw .tooLarge(bytesMax: limits.textBytes)
        }
        guard textBytes <= limits.ratioFreeBytes || textBytes <= bytesRead * limits.ratio else {
            throw .ratioTooHigh(ratioMax: limits.ratio)
        }
        return part
    }
}
