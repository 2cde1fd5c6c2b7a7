"""A shop with a product of every kind, as Xcode would write it."""


def offer(mode, period, count=1, price="0.99", **more):
    return {
        "internalID": f"offer-{mode}-{period}-{count}",
        "paymentMode": mode,
        "subscriptionPeriod": period,
        "numberOfPeriods": count,
        "displayPrice": price,
        **more,
    }


def subscription(product, price, level, period="P1M", group="21400001", intro=None, **more):
    return {
        "adHocOffers": [],
        "codeOffers": [],
        "winbackOffers": [],
        "displayPrice": price,
        "familyShareable": False,
        "groupNumber": level,
        "internalID": product,
        "introductoryOffer": intro,
        "localizations": [{"description": "", "displayName": product, "locale": "en_US"}],
        "productID": product,
        "recurringSubscriptionPeriod": period,
        "referenceName": product,
        "subscriptionGroupID": group,
        "type": "RecurringSubscription",
        **more,
    }


HALF_PRICE = {
    "internalID": "half-price",
    "paymentMode": "payAsYouGo",
    "subscriptionPeriod": "P1M",
    "displayPrice": "2.49",
}
OFFERS = {
    "adHocOffers": [{**HALF_PRICE, "offerID": "again"}],
    "codeOffers": [
        {**HALF_PRICE, "referenceName": "code", "eligibility": ["new", "existing", "expired"]}
    ],
    "winbackOffers": [{**HALF_PRICE, "offerID": "back", "isEligible": True}],
}
PLANS = {
    "billingPlans": [
        {"billingPlanType": "BILLED_UPFRONT", "displayPrice": "99.99", "isEnabled": True},
        {
            "billingPlanType": "MONTHLY",
            "displayPrice": "8.33",
            "commitmentDisplayPrice": "99.96",
            "isEnabled": True,
        },
    ]
}


def single(product, kind, price, shareable=False):
    return {
        "displayPrice": price,
        "familyShareable": shareable,
        "internalID": product,
        "localizations": [{"description": "", "displayName": product, "locale": "en_US"}],
        "productID": product,
        "referenceName": product,
        "type": kind,
    }


def group(name, identifier, subscriptions):
    return {"id": identifier, "localizations": [], "name": name, "subscriptions": subscriptions}


SHOP = {
    "identifier": "C0F0A4CE",
    "nonRenewingSubscriptions": [
        single("season", "NonRenewingSubscription", "19.99"),
    ],
    "products": [
        single("gems", "Consumable", "1.99"),
        single("lifetime", "NonConsumable", "99.99", shareable=True),
    ],
    "settings": {"_locale": "en_US", "_storefront": "USA"},
    "subscriptionGroups": [
        group(
            "Birds",
            "21400001",
            [
                subscription("premium", "19.99", 1, **OFFERS),
                subscription("pro", "9.99", 2, familyShareable=True, **OFFERS),
                subscription("other", "8.99", 2),
                subscription("yearly", "99.99", 2, period="P1Y", **PLANS),
                subscription("plus", "4.99", 3, **OFFERS),
            ],
        ),
        group(
            "Songs",
            "21400002",
            [subscription("trial", "9.99", 1, group="21400002", intro=offer("free", "P1W"))],
        ),
        group(
            "Nests",
            "21400003",
            [
                subscription(
                    "discounted",
                    "9.99",
                    1,
                    group="21400003",
                    intro=offer("payAsYouGo", "P1M", count=2),
                )
            ],
        ),
        group(
            "Eggs",
            "21400004",
            [
                subscription(
                    "upfront",
                    "9.99",
                    1,
                    group="21400004",
                    intro=offer("payUpFront", "P3M", price="4.99"),
                )
            ],
        ),
    ],
    "version": {"major": 5, "minor": 0},
}
