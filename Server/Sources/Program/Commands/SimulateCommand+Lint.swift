import AppStoreFormats
import Foundation
import Simulator

extension SimulateCommand {
    /// Prints what is wrong with a `.storekit` file. Fails where something is.
    func report(on path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw StartFailure("\(path) cannot be read.", remedy: "Name a .storekit file.")
        }
        let findings: [ShopLint.Finding]
        do { findings = ShopLint(try JSON(parsing: bytes)).findings } catch {
            throw StartFailure("\(path) is no JSON: \(error).", remedy: "Save it in Xcode again.")
        }
        for finding in findings {
            print("\(finding.isFatal ? "unusable" : "odd")  \(finding)")
        }
        guard findings.isEmpty else {
            throw StartFailure(
                "\(path) has \(findings.count) findings.",
                remedy: "Xcode or App Store Connect would refuse them.")
        }
        print("\(path): nothing is odd")
    }
}
