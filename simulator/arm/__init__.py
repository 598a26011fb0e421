"""The simulated Azure Resource Manager and the resource providers behind it."""
