"""The world as it is before anything is deployed."""

from simulator.world import Principal, World

SUBSCRIPTION_ID = "11111111-1111-4111-8111-111111111111"
CALLER_ID = "22222222-2222-4222-8222-222222222222"


def plant(world: World) -> None:
    """Fill a new world."""
    world.principals[CALLER_ID] = Principal(CALLER_ID, "ServicePrincipal", "platform-engineer")
    world.settings["caller"] = CALLER_ID
