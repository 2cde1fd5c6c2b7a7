import Foundation
import Perennial

let perennial = Perennial(server: URL(string: "http://localhost:8080")!, key: "pk_dev_birds")
