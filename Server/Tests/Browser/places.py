"""The pages of the dashboard that the tests and the screenshots visit, in a world in which the
cast of population.py has lived."""

CHARTS = [
    "mrr", "arr", "mrr_movement", "revenue", "refunds", "payments", "one_time", "active",
    "active_movement", "seats", "trials", "churn", "trial_conversion", "retention",
    "retention_days", "ltv", "refund_cohorts", "billing",
]  # fmt: skip

# One page of each kind. A quick run skips the other pages of a kind.
QUICK = [
    "overview", "chart-mrr", "chart-mrr_movement", "chart-retention", "chart-purchases",
    "customers", "customer-anna-pays", "customer-cleo-grace",
    "customer-yola-pays-for-a-group", "events", "notifications",
    "webhooks", "webhook-delivery", "products", "health", "audit", "problem", "phone",
]  # fmt: skip


def pages(world, is_whole=True):
    """Names and paths, in the order of the navigation."""
    every = all_pages(world)
    return every if is_whole else {name: every[name] for name in QUICK}


def all_pages(world):
    webhooks = world.api("/v1/webhooks")["items"]
    failing = next(one for one in webhooks if one["failing_since"])["webhook_id"]
    well = next(one for one in webhooks if not one["failing_since"])["webhook_id"]
    delivery = world.api(f"/v1/webhooks/{failing}/deliveries?limit=1")["items"][0]["delivery_id"]
    purchases = "/charts/mrr/purchases?column=mrr&by=month&currency=USD"
    month = world.sim("clock")["now"][:7]
    return {
        "overview": "/",
        **{f"chart-{name}": f"/charts/{name}" for name in CHARTS},
        "chart-mrr-by-product": "/charts/mrr?by=month&column=mrr&segment=product",
        "chart-purchases": f"{purchases}&from={month}-01&to={month}-01",
        "customers": "/customers",
        "customers-found": "/customers?query=anna",
        "customers-none": "/customers?query=nobody-of-this-name",
        "customer-anna-pays": "/customers/anna",
        "customer-ben-refunded": "/customers/ben",
        "customer-cleo-grace": "/customers/cleo",
        "customer-dora-granted": "/customers/dora",
        "customer-emma-moved": "/customers/emma-work",
        "customer-yola-pays-for-a-group": "/customers/yola",
        "customer-yuri-member": "/customers/yuri",
        "customer-unknown": "/customers/nobody",
        "events": "/events",
        "events-of-ben": "/events?customer_id=ben",
        "notifications": "/notifications",
        "notifications-forwarded": "/notifications/forwarded",
        "notifications-asked": "/notifications/asked",
        "webhooks": "/webhooks",
        "webhook-failing": f"/webhooks/{failing}",
        "webhook-well": f"/webhooks/{well}",
        "webhook-delivery": f"/webhooks/{failing}?delivery={delivery}",
        "reports": "/reports",
        "products": "/products",
        "health": "/checks",
        "audit": "/audit",
        "rehearsal": "/rehearsal",
        "problem": "/webhooks/wh_none",
        "phone": "/phone",
    }
