/// Answers of authenticators as another implementation makes them: the Python package `fido2`,
/// whose own server accepts them. All bytes are in base64url.
struct PasskeyVector: Sendable, CustomStringConvertible {
    let description: String
    let registrationChallenge: String
    let registrationClient: String
    let attestation: String
    let credential: String
    let user: String
    let challenge: String
    let client: String
    let authenticator: String
    let signature: String

    /// The host is `store.example.com`. The counter is 3 in the registration, and then 4. The one
    /// with Ed25519 has extensions.
    static let all = [
        PasskeyVector(
            description: "ES256",
            registrationChallenge: "j1OlabQAyJeEYMqtasdTrkDAFpf3l5IZgJsTZzBbWBA",
            registrationClient: """
                eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiajFPbGFiUUF5SmVFWU1xdGFzZF\
                Rya0RBRnBmM2w1SVpnSnNUWnpCYldCQSIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5j\
                b20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            attestation: """
                o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViYD5_51s5490ul2od8dzcD00s3CshF3x3z7HseRC\
                RtDupFAAAAAwAAAAAAAAAAAAAAAAAAAAAAFHywhclHvfMgiDz742HZB8pgq0HhpQECAyYgASFYIBfp\
                e-tYUX8pQis6QPlk2ZF1bxt-k-SfDqHhFTFC1QpIIlggR_L1U4tzcAE1LEgpJuL-\
                aHKi3w9fK7UcwCfl7WbdWgw
                """,
            credential: "fLCFyUe98yCIPPvjYdkHymCrQeE",
            user: "XQZ3p872faE",
            challenge: "yyvUqR_qirK-JAcDePLOx_6Xiz2awnWU4bzvGKzGvv0",
            client: """
                eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoieXl2VXFSX3FpckstSkFjRGVQTE94Xz\
                ZYaXoyYXduV1U0Ynp2R0t6R3Z2MCIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5jb20i\
                LCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            authenticator: "D5_51s5490ul2od8dzcD00s3CshF3x3z7HseRCRtDuoFAAAABA",
            signature: """
                MEUCIDKfKJrfyc5OVFPsIVIpuTCSvG4cnI8oNtwEChFAynGLAiEAvBjnIBYhKqHqjKMSgKYVT-\
                0ImrlbrMNt3gL9qzoF4eY
                """
        ),
        PasskeyVector(
            description: "Ed25519",
            registrationChallenge: "fCpU1v8DVS5ZBFsil7oxr1jKrlsFNCf7IsyPJEORoXA",
            registrationClient: """
                eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoiZkNwVTF2OERWUzVaQkZzaWw3b3\
                hyMWpLcmxzRk5DZjdJc3lQSkVPUm9YQSIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5j\
                b20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            attestation: """
                o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YViDD5_51s5490ul2od8dzcD00s3CshF3x3z7HseRC\
                RtDurFAAAAAwAAAAAAAAAAAAAAAAAAAAAAFIUEtQydshx2TW24zccRbySkYzWkpAEBAycgBiFYIBe4\
                sq7kzTnC_bIG3FRKIKze3Xi3SlpavuBM5dcAAJZPoWtjcmVkUHJvdGVjdAI
                """,
            credential: "hQS1DJ2yHHZNbbjNxxFvJKRjNaQ",
            user: "Wd615ZNtToQ",
            challenge: "QybWv_zFb2HnPqyUtXSl2xX498b7KYhN6M8IQUzlj74",
            client: """
                eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiUXliV3ZfekZiMkhuUHF5VXRYU2wyeF\
                g0OThiN0tZaE42TThJUVV6bGo3NCIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5jb20i\
                LCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            authenticator: "D5_51s5490ul2od8dzcD00s3CshF3x3z7HseRCRtDuoFAAAABA",
            signature: """
                fpGSnFLhleoqOobWr0_H_QJU7FkrwEkr3z7m5_DtZ5I2Ly2z0K5oeCYuYJI-\
                OGKwITMQNp_7igxiDw95HEvIDQ
                """
        ),
        PasskeyVector(
            description: "RS256",
            registrationChallenge: "kEZ26A3YGD8rAUmKk4eaSvGFeF_w8Z_ZVZy9tuKStig",
            registrationClient: """
                eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoia0VaMjZBM1lHRDhyQVVtS2s0ZW\
                FTdkdGZUZfdzhaX1pWWnk5dHVLU3RpZyIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5j\
                b20iLCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            attestation: """
                o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVkBWw-f-dbOePdLpdqHfHc3A9NLNwrIRd8d8-\
                x7HkQkbQ7qRQAAAAMAAAAAAAAAAAAAAAAAAAAAABRnvfT_01xS5BAF90jaxVkUMBSsKKQBAwM5AQAg\
                WQEAn0qGhDS9yCsNU8-\
                Y9zbpITNTB8CIMG6h0Wa2INEWeuQmLGOiRmXG5yeKiUyYddI_YlSgfZoq7ecCu7o0o39UGOiqBFkGU\
                gr3VAwoNEPN6RNkAVcwrbe1s4iTe5yi13o8xX3EhEIIJRTz-QS3dA5X-\
                VAUr9D62w9P_r1PFNlenZdJ9pcC5vk8lZ782_o8qRK9yinAo1eIeasZ3sa09LT6DSXjTILw3f0V368\
                RNo7FGMI49aiZkKAouZW7P1gOAaOL_Rg6N2yN1Jk-eK-\
                Lpf9uIEUZNJWDNJH0XXLRnJR93k3PfGL4Ldlq20GXsHay3aLA_tLrgxcue7c8Bm226bBPyyFDAQAB
                """,
            credential: "Z730_9NcUuQQBfdI2sVZFDAUrCg",
            user: "6vdzLs8dXwc",
            challenge: "3aufZlUYF1Af3LH32Kexpbuo8e5NjouewyP4fFwIJt4",
            client: """
                eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiM2F1ZlpsVVlGMUFmM0xIMzJLZXhwYn\
                VvOGU1TmpvdWV3eVA0ZkZ3SUp0NCIsIm9yaWdpbiI6Imh0dHBzOi8vc3RvcmUuZXhhbXBsZS5jb20i\
                LCJjcm9zc09yaWdpbiI6ZmFsc2V9
                """,
            authenticator: "D5_51s5490ul2od8dzcD00s3CshF3x3z7HseRCRtDuoFAAAABA",
            signature: """
                E8Pzr5mGOdi4MoKMlEUEZgiQHDVTfeaIotyV-g3InvUlLvmEKXynPPvBOYCMMQ8bbyj-\
                L4kOZVBb9r1jHo5WyNYBWzM7YWZW_Dw-\
                yb58r7rHc5MY6aUctZ2kkXdc_OWH_3M_v2U6XMksXidm_vtgo1yKXTSa9YiYDJr-adUIf2pX7ByfuX\
                oANEzqmJvYZhkiEhc1Lzs3UmPzPj2cTO9xe29IzZCI14a4FCzKryroE3p617g5Ekqg2pRYwFwkKsuP\
                Bq3q_q52m7FLTELJV8eZ1AsIEORLnIvHEssMYSvpPqs-\
                rtpxVMNpK_R3GmH0IfJIaWOMT2Des1AfeVeylGETgQ
                """
        ),
    ]
}
