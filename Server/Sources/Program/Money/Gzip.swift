import CZlib

/// Decompression of gzip (RFC 1952).
enum Gzip {
    /// Why compressed bytes cannot be read.
    enum Defect: Error, Hashable {
        /// The bytes are damaged or end too early.
        case damaged
        case tooLarge(bytesMax: Int)
    }

    private static let chunkBytes = 262_144

    static func isCompressed(_ bytes: [UInt8]) -> Bool {
        bytes.count > 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// Decompresses bytes, and compares their checksum and length.
    static func decompressed(
        _ bytes: [UInt8], bytesMax: Int
    ) throws(Defect) -> [UInt8] {
        var stream = z_stream()
        guard perennial_inflate_init(&stream) == Z_OK else { throw .damaged }
        defer { inflateEnd(&stream) }
        var input = bytes
        var output: [UInt8] = []
        let status = input.withUnsafeMutableBufferPointer { input -> Int32 in
            stream.next_in = input.baseAddress
            stream.avail_in = uInt(input.count)
            return inflate(&stream, into: &output, bytesMax: bytesMax)
        }
        guard output.count <= bytesMax else { throw .tooLarge(bytesMax: bytesMax) }
        guard status == Z_STREAM_END, stream.avail_in == 0 else { throw .damaged }
        return output
    }

    private static func inflate(
        _ stream: inout z_stream, into output: inout [UInt8], bytesMax: Int
    ) -> Int32 {
        var chunk = [UInt8](repeating: 0, count: chunkBytes)
        var status = Z_OK
        while status == Z_OK, output.count <= bytesMax {
            status = chunk.withUnsafeMutableBufferPointer { chunk in
                stream.next_out = chunk.baseAddress
                stream.avail_out = uInt(chunk.count)
                return CZlib.inflate(&stream, Z_NO_FLUSH)
            }
            output += chunk[..<(chunkBytes - Int(stream.avail_out))]
        }
        return status
    }
}
