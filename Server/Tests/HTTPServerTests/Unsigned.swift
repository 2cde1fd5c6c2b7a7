import Foundation

/// An unsigned notification for a bundle, which anybody could send.
func unsigned(for bundle: String) -> String {
    let header = #"{"alg":"none"}"#
    let payload = """
        {"notificationType":"TEST","notificationUUID":"1","version":"2.0",\
        "signedDate":1795248000000,"data":{\
        "bundleId":"\(bundle)","environment":"Production","appAppleId":1}}
        """
    return "\(base64url(header)).\(base64url(payload)).AAAA"
}

private func base64url(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
}
