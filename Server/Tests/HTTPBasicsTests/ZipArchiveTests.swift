import HTTPBasics
import Testing

@Suite struct ZipArchiveTests {
    @Test func `an archive without files consists of the end record alone`() {
        #expect(ZipArchive().complete() == [0x50, 0x4b, 5, 6] + [UInt8](repeating: 0, count: 18))
    }

    /// The bytes follow from PKWARE's APPNOTE. 0xcbf43926 is the published CRC-32 of "123456789".
    @Test func `a file is stored with its checksum, its length and its name`() throws {
        var archive = ZipArchive()
        let content = Array("123456789".utf8)
        let entry = try archive.add("a", content)
        #expect(Array(entry.prefix(4)) == [0x50, 0x4b, 3, 4])
        #expect(Array(entry[14..<18]) == [0x26, 0x39, 0xf4, 0xcb])
        #expect(Array(entry[18..<22]) == [9, 0, 0, 0] && Array(entry[26..<28]) == [1, 0])
        #expect(Array(entry[30...]) == Array("a".utf8) + content)
        let end = archive.complete()
        #expect(Array(end.prefix(4)) == [0x50, 0x4b, 1, 2])
        #expect(Array(end.suffix(6)) == [UInt8(entry.count), 0, 0, 0, 0, 0])
    }

    @Test func `a name that is too long is refused, and the archive can be continued`() throws {
        var archive = ZipArchive()
        let name = String(repeating: "a", count: ZipArchive.nameBytesMax)
        #expect(throws: ZipArchive.Full.self) { _ = try archive.add(name + "a", []) }
        let entry = try archive.add(name, [])
        #expect(entry.count == 30 + ZipArchive.nameBytesMax)
        #expect(Array(archive.complete().suffix(22))[8] == 1)
    }

    @Test func `an archive refuses files beyond the number that the format can count`() throws {
        var archive = ZipArchive()
        for _ in 0..<ZipArchive.filesMax { _ = try archive.add("a", []) }
        #expect(throws: ZipArchive.Full.self) { _ = try archive.add("a", []) }
    }
}
