extension Storefront {
    /// The country as reports write it: ISO 3166-1 alpha-2, and `XK` for Kosovo.
    var twoLetterCountry: String {
        Self.otherTwoLetters[country] ?? String(country.prefix(2))
    }

    /// Countries whose two-letter code is not the first two letters of the three-letter code.
    private static let otherTwoLetters: [String: String] = Dictionary(
        uniqueKeysWithValues: others.split(whereSeparator: \.isWhitespace).map { word in
            (String(word.prefix(3)), String(word.suffix(2)))
        })

    private static let others = """
        AGOAO AREAE ARMAM ATGAG AUTAT BENBJ BHSBS BIHBA BLRBY BLZBZ BRBBB BRNBN CHLCL CHNCN CODCD
        COGCG CPVCV CYMKY DNKDK ESTEE FSMFM GNBGW GRDGD GUYGY IRLIE IRQIQ ISRIL JAMJM KAZKZ KORKR
        LBRLR LBYLY MACMO MDGMG MDVMV MEXMX MLTMT MNEME MOZMZ PAKPK PLWPW PNGPG POLPL PRTPT PRYPY
        SENSN SLBSB SLVSV SRBRS SURSR SVKSK SVNSI SWESE SWZSZ SYCSC TCDTD TKMTM TUNTN TURTR UKRUA
        URYUY
        """

    /// The region of financial reports to which a sale belongs (App Store Connect Help, "Financial
    /// report regions and currencies"). Each currency has one region, named after its country; the
    /// US dollar has three regions.
    var reportRegion: String {
        switch currency {
        case "USD":
            country == "USA" ? "US" : Self.latinAmerica.contains(country) ? "LL" : "WW"
        default: String(currency.prefix(2))
        }
    }

    private static let latinAmerica: Set = [
        "ARG", "BLZ", "BOL", "CRI", "DOM", "ECU", "GTM", "GUY", "HND", "JAM", "NIC", "PAN", "PRY",
        "SLV", "SUR", "TTO", "URY", "VEN",
    ]
}
