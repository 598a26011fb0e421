"""What a check finds: a fault, which stops the update, or a warning, which is a sentence."""

from dataclasses import dataclass

from contract.azure import Role, group_of, name_of, provider_of, subscription_of
from contract.choices import PrincipalType
from contract.lines import assign_role, named
from infra.faults import Fault

Finding = Fault | str
"""A string is a warning."""

ELIGIBLE = " (or activate it, where you are eligible for it in Privileged Identity Management)"
"""What follows the line that gives the caller a role."""


@dataclass(frozen=True)
class Place:
    """A resource that was looked up, as messages and ``az`` lines name it."""

    setting: str
    """Where the stack file names it, e.g. ``gpuobs:cluster.existing``."""
    kind: str
    id: str

    @property
    def name(self) -> str:
        """The resource's name."""
        return name_of(self.id)

    @property
    def resource_group(self) -> str:
        """The resource's group."""
        return group_of(self.id)

    @property
    def subscription(self) -> str:
        """The resource's subscription."""
        return subscription_of(self.id)

    @property
    def provider(self) -> str:
        """The resource provider, e.g. the one of AKS."""
        return provider_of(self.id.partition("/providers/")[2])

    @property
    def options(self) -> tuple[str, ...]:
        """The options that name it to ``az``."""
        return named(self.id)

    def __str__(self) -> str:
        """The setting and the resource."""
        return f"{self.setting} ({self.kind} {self.name} in group {self.resource_group})"

    def fault(self, *, rule: str, why: str, fix: str) -> Fault:
        """A fault of this resource."""
        return Fault(path=str(self), rule=rule, why=why, fix=fix)


def role_assignment(*, assignee: str, kind: PrincipalType, role: Role, scope: str) -> str:
    """The ``az`` line that gives a role."""
    return assign_role(role=role.role_name, assignee=assignee, kind=kind, scope=scope)
