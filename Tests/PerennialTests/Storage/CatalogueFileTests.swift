import Foundation
import Testing

@testable import Perennial

struct CatalogueFileTests {
    private func catalogue(_ products: Int) -> CatalogueFile.Catalogue {
        CatalogueFile.Catalogue(
            offerings: "a.b.c", version: "v1",
            products: (0..<products).map {
                CatalogueFile.Product(
                    id: "pro.\($0)", kind: "renewing", name: "Pro", details: "Every bird",
                    price: Decimal(string: "19.99")!, displayPrice: "19,99 €", currencyCode: "EUR",
                    period: .init(unit: "month", count: 1), isFamilyShareable: true)
            })
    }

    @Test func `a written catalogue file is read back`() throws {
        let folder = try TemporaryFolder()
        let file = CatalogueFile(folder: folder.device)
        #expect(file.read() == nil)
        try file.write(catalogue(3))
        #expect(file.read() == catalogue(3))
    }

    @Test func `products beyond the limit are dropped, and offerings beyond the limit are refused`()
        throws
    {
        let folder = try TemporaryFolder()
        let file = CatalogueFile(folder: folder.device)
        var large = catalogue(3)
        large.offerings = String(repeating: "x", count: CatalogueFile.bytesMax - 200)
        try file.write(large)
        #expect(file.read()?.products == [])
        #expect(file.read()?.offerings == large.offerings)
        large.offerings = String(repeating: "x", count: CatalogueFile.bytesMax)
        #expect(throws: FileFailure.tooLarge) { try file.write(large) }
        #expect(file.read()?.version == "v1")
    }

    @Test func `a damaged catalogue file counts as absent`() throws {
        let folder = try TemporaryFolder()
        let file = CatalogueFile(folder: folder.device)
        try file.write(catalogue(1))
        try folder.write(Array(try folder.bytes(file.path).dropLast()), to: file.path)
        #expect(file.read() == nil)
    }
}
